// What a store does, in memory and at once: the reference for the protocol's simulation.
//
// Its clock is given with each call. Stores that somebody built wrongly: `Fencing::kNone`, where
// what is written counts for whoever owns the target by then, and a lease is anybody's who renews
// it; and `kWithoutMarks`, where a final state is final for all who read it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/share/cluster/store.h"

namespace headgate::cluster {

class ModelStore {
 public:
  enum class Fencing : uint8_t { kByGeneration, kWithoutMarks, kNone };
  explicit ModelStore(Fencing fencing = Fencing::kByGeneration) : fencing_(fencing) {}

  RoundReply Round(const RoundRequest& request, absl::Time now);
  absl::Status WriteState(const StateWrite& write, absl::Time now);
  absl::StatusOr<std::optional<StoredState>> ReadState(const Held& held, absl::Time now);
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
    std::set<uint64_t> readers = {};  // of a final one: generations that may have gone on from it
  };

  void Renew(const RoundRequest& request, absl::Time now);
  void Give(const RoundRequest& request, absl::Time now);
  void Grant(const RoundRequest& request, absl::Time now);
  bool Receives(const Handover& give) const;
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
