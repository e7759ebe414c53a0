// KeepClient: asks other servers whether this one may decide on while the store is away.
//
// Thread-safe. Calls never block but for Close, which waits for answers that are on their way: as
// long as the patience of the last question.
//
//   KeepClient client(connections);
//   client.Ask({.address = "10.0.0.2:8081", .request = request,
//               .patience = absl::Milliseconds(600), .then = [](bool agrees) { ... }});

#pragma once

#include <headgate/peer/v1/question_service.pb.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "server/serve/peers/peer_connections.h"

namespace headgate::peers {

class KeepClient {
 public:
  using Then = std::function<void(bool agrees)>;
  struct Question {
    std::string address;
    peer::v1::KeepRequest request;
    absl::Duration patience;
    // Called once, from any thread: false where the other server does not agree, does not answer
    // within `patience`, or is no member.
    Then then;
  };

  // The connections outlive this.
  explicit KeepClient(PeerConnections& connections) : connections_(connections) {}
  ~KeepClient() { Close(); }
  KeepClient(const KeepClient&) = delete;
  KeepClient& operator=(const KeepClient&) = delete;

  void Ask(Question question);
  // All that was asked has been answered, and nothing is asked any more.
  void Close();

 private:
  struct UnderWay;

  void End(std::unique_ptr<UnderWay> call, bool agrees);

  PeerConnections& connections_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool closed_ = false;
  int under_way_ = 0;
};

}  // namespace headgate::peers
