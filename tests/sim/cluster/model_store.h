// What a store does, in memory and at once: the reference for the protocol's simulation.
//
// Its clock is given with each call. `Fencing::kNone` is a store that somebody built wrongly: what
// is written counts for whoever owns the target by then, and a lease is anybody's who renews it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/cluster/store.h"

namespace headgate::cluster {

class ModelStore {
 public:
  enum class Fencing : uint8_t { kByGeneration, kNone };
  explicit ModelStore(Fencing fencing = Fencing::kByGeneration) : fencing_(fencing) {}

  RoundReply Round(const RoundRequest& request, absl::Time now);
  absl::Status WriteState(const StateWrite& write, absl::Time now);
  absl::StatusOr<std::optional<StoredState>> ReadState(const Held& held, absl::Time now) const;
  void SetDrained(const std::string& member, bool drained);
  void SetPreferred(const std::string& target, const std::string& member);
  uint64_t AddOverride() { return ++overrides_; }
  uint64_t overrides() const { return overrides_; }
  // How often a target got another owner.
  int64_t handovers() const { return handovers_; }

 private:
  struct Member {
    MemberRow row;
    uint64_t round = 0;
    absl::Time last_seen;
    bool is_drained = false;
  };
  struct Ownership {
    std::string owner;
    uint64_t incarnation = 0;
    uint64_t generation = 0;
    uint64_t renewal = 0;
    absl::Time expires;
    std::string preferred;
  };
  struct State {
    uint64_t generation = 0;
    uint64_t sequence = 0;
    std::string whole;
    absl::Time copied;
    bool is_final = false;
  };

  void Renew(const RoundRequest& request, absl::Time now);
  void Give(const RoundRequest& request, absl::Time now);
  void Grant(const RoundRequest& request, absl::Time now);
  void Own(Ownership& row, const std::string& owner, uint64_t incarnation, absl::Time expires);
  bool IsOwner(const Held& held) const;

  const Fencing fencing_;
  std::map<std::string, Member> members_;
  std::map<std::string, Ownership> ownership_;
  std::map<std::string, State> states_;
  uint64_t overrides_ = 0;
  int64_t handovers_ = 0;
};

}  // namespace headgate::cluster
