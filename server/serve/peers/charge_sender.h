// ChargeSender: charges owners for what this server admitted while it could not reach them.
//
// Once the store answers again, what was admitted of a target goes to whoever decides for it, this
// server perhaps: a message at a time, 1,000 buckets in each. One that fails is sent again with its
// number, by which an owner knows what it has charged already; only the next owner does not, where
// the answer of the one before was lost, and may charge it twice. What no owner has taken after a
// minute of trying, or what one refuses, is lost, and is said to be.
//
// Thread-safe.
//
//   ChargeSender sender({.approximation = approximation, .clock = clock, .send = ...});
//   sender.SendDue();  // twice a second, while the store answers

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/peer/v1/peer_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/approximate/uncharged_costs.h"
#include "server/serve/peers/approximation.h"

namespace headgate::peers {

class ChargeSender {
 public:
  struct Options {
    Approximation& approximation;
    Clock& clock;
    // Sends a message to whoever decides for its target. OnAnswer is called once for each.
    std::function<void(peer::v1::ApproximateCharges charges)> send;
    absl::Duration longest_try = absl::Minutes(1);
  };
  explicit ChargeSender(Options options) : options_(std::move(options)) {}

  void SendDue() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ok: the owner has charged it.
  void OnAnswer(const std::string& target, const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Message {
    std::vector<approximate::UnchargedCost> costs;
    uint64_t number = 0;
    int64_t first_tried_ns = 0;
    bool is_under_way = false;
  };

  peer::v1::ApproximateCharges ToProto(const std::string& target, const Message& message,
                                       int64_t now_ns) const;

  const Options options_;
  Mutex mutex_;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Message> messages_ ABSL_GUARDED_BY(mutex_);  // by target
};

}  // namespace headgate::peers
