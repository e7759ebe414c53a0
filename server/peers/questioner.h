// Questioner: asks the other servers what people want to know of all.
//
// All that are here are asked at once, each over a connection that stays; one that does not answer
// in time is said not to have, and holds up nobody else.
//
// Thread-safe. A call lasts until all have answered, kPatience at most.
//
//   Questioner fleet({.control = control, .connect = connect});
//   auto server = RpcServer::Start({...}, {..., .fleet = &fleet});

#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/rpc/fleet.h"

namespace headgate::peers {

class Questioner final : public rpc::Fleet {
 public:
  // Less than the command line waits for one answer.
  static constexpr absl::Duration kPatience = absl::Seconds(1);
  // Overrides are not waited for any longer: the next round of a server brings them anyway.
  static constexpr absl::Duration kSpreading = absl::Seconds(1);

  // All outlive it.
  struct Options {
    cluster::Control& control;
    // A channel to this address, which proves who calls.
    std::function<std::shared_ptr<grpc::Channel>(const std::string& address)> connect;
  };

  explicit Questioner(Options options) : options_(std::move(options)) {}

  cluster::ClusterView View() override { return options_.control.View(); }
  std::vector<Reply> AskOthers(const Question& question) override;
  Reply Ask(const std::string& member, const Question& question) override;
  std::vector<std::string> SpreadOverrides(uint64_t revision) override;

 private:
  struct Peer {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;
  };

  // Those that are here, or the one of this name.
  std::vector<Peer> Others(const std::string& only = {}) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Reply> AskEach(const std::vector<Peer>& peers, const Question& question);

  const Options options_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::peers
