// What a forwarder does with Checks that nobody decides, where they are not to be held: the server
// decides alone and approximately (server/decide/approximate), and charges the owner later.
//
// Thread-safe.

#pragma once

#include <headgate/peer/v1/peer_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/decide/approximate/approximate_limits.h"

namespace headgate::peers {

class Approximation {
 public:
  virtual ~Approximation() = default;

  virtual approximate::ApproximateLimits& limits() = 0;
  // Of this process; no other server's is the same.
  virtual uint64_t incarnation() const = 0;
  // Something is to be decided so: what is known of the target's health is in force from now on.
  // Called for each Check.
  virtual void Prepare(const std::string& target) = 0;
  // What an owner has answered, which tells of the target's health. Called for each answer.
  virtual void OnAnswer(const std::string& target, const peer::v1::ForwardedAnswer& answer) = 0;

  // An owner has been charged, or never will be.
  virtual void OnCharged(const std::string& target, size_t buckets) = 0;
  virtual void OnLost(const std::string& target, size_t buckets, std::string_view why) = 0;
};

}  // namespace headgate::peers
