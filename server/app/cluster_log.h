// What a server that shares its targets says of the store and of the others: a line when something
// begins, and one when it has ended.
//
// Belongs to the thread that asks for rounds.
//
//   ClusterLog log("headgate-0", config::OnStoreLoss::kStop);
//   log.Note(reply.status(), member.View());

#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/govern/config/config.h"
#include "server/share/cluster/view.h"

namespace headgate::app {

class ClusterLog {
 public:
  ClusterLog(std::string member, config::OnStoreLoss on_store_loss)
      : member_(std::move(member)), on_store_loss_(on_store_loss) {}

  // What a round came to, and what is known after it.
  void Note(const absl::Status& round, const cluster::ClusterView& view);

 private:
  void NoteStore(const absl::Status& round);
  void NoteName(bool is_taken);
  void NoteStates(const absl::Status& states);
  void NoteConfigurations(const cluster::ClusterView& view);

  const std::string member_;
  const config::OnStoreLoss on_store_loss_;
  // What was said last.
  bool store_is_away_ = false;
  bool name_is_taken_ = false;
  bool keeps_states_ = true;
  std::map<std::string, std::string> differences_;  // by target: who has which configuration
};

}  // namespace headgate::app
