#include "server/app/cluster_log.h"

#include <utility>

#include "server/app/server_log.h"

namespace headgate::app {
namespace {

const char* NameOf(config::OnStoreLoss on_store_loss) {
  switch (on_store_loss) {
    case config::OnStoreLoss::kKeep:
      return "KEEP";
    case config::OnStoreLoss::kApproximate:
      return "APPROXIMATE";
    case config::OnStoreLoss::kStop:
      break;
  }
  return "STOP";
}

}  // namespace

void ClusterLog::Note(const absl::Status& round, const cluster::ClusterView& view) {
  NoteStore(round);
  if (!round.ok()) return;
  NoteName(view.name_is_taken);
  NoteStates(view.states);
  NoteConfigurations(view);
}

void ClusterLog::NoteStore(const absl::Status& round) {
  const bool was_away = std::exchange(store_is_away_, !round.ok());
  if (!round.ok() && !was_away) {
    LogWarning("the store does not answer",
               {{"why", std::string(round.message())}, {"on_store_loss", NameOf(on_store_loss_)}});
  } else if (round.ok() && was_away) {
    LogInfo("the store answers again");
  }
}

void ClusterLog::NoteName(bool is_taken) {
  const bool was_taken = std::exchange(name_is_taken_, is_taken);
  if (is_taken && !was_taken) {
    LogError(
        "another server has this one's name, or had it a moment ago: this one decides for nothing",
        {{"member", member_}});
  } else if (was_taken && !is_taken) {
    LogInfo("this one's name is free now: it is one of the servers", {{"member", member_}});
  }
}

void ClusterLog::NoteStates(const absl::Status& states) {
  const bool kept = std::exchange(keeps_states_, states.ok());
  if (!states.ok() && kept) {
    LogError("the store does not keep this server's states: other servers are given its targets",
             {{"why", std::string(states.message())}});
  } else if (states.ok() && !kept) {
    LogInfo("the store keeps this server's states again");
  }
}

void ClusterLog::NoteConfigurations(const cluster::ClusterView& view) {
  std::map<std::string, std::string> differences = cluster::Differences(view);
  for (const auto& [target, servers] : differences) {
    const auto before = differences_.find(target);
    if (before != differences_.end() && before->second == servers) continue;
    LogWarning("servers have a target configured differently, or lack it",
               {{"target", target}, {"servers", servers}});
  }
  for (const auto& [target, servers] : differences_) {
    if (differences.contains(target)) continue;
    LogInfo("servers have a target configured alike again", {{"target", target}});
  }
  differences_ = std::move(differences);
}

}  // namespace headgate::app
