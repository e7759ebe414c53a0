// FleetClient: asks the other servers what people want to know of all of them.
//
// All members that are here are asked at once. One that does not answer in time is reported as
// such, and holds up nobody else.
//
// Thread-safe. A call lasts until all have answered, and for as long as the options say at most.
//
//   FleetClient fleet({.control = control, .connections = connections});
//   auto server = RpcServer::Start({...}, {..., .fleet = &fleet});

#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/serve/peers/peer_connections.h"
#include "server/serve/rpc/fleet.h"

namespace headgate::peers {

class FleetClient final : public rpc::Fleet {
 public:
  // What is referred to outlives it.
  struct Options {
    cluster::Control& control;
    PeerConnections& connections;
    // For answers: less than the command line waits for one.
    absl::Duration patience = absl::Seconds(1);
    // Of whoever measures: a database that is asked may take as long as a poll does.
    absl::Duration measuring = absl::Seconds(2);
    // For overrides: the next round of a server brings them anyway.
    absl::Duration spreading = absl::Seconds(1);
  };

  explicit FleetClient(const Options& options) : options_(options) {}

  cluster::ClusterView View() override { return options_.control.View(); }
  std::vector<Reply> AskOthers(const Question& question) override;
  Reply Ask(const std::string& member, const Question& question) override;
  std::vector<std::string> SpreadOverrides(uint64_t revision) override;
  // As cluster::Control's, of another member.
  absl::StatusOr<cluster::Offer> TryToMeasure(const std::string& target, const std::string& member);

 private:
  struct Peer {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;  // null: it has left just now
  };

  // Those that are here, or the one of this name.
  std::vector<Peer> Others(const std::string& only = {});
  std::vector<Reply> AskEach(const std::vector<Peer>& peers, const Question& question);

  const Options options_;
};

}  // namespace headgate::peers
