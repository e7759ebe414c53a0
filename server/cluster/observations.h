// What a server has seen of the others, and when by its own clock.
//
// Store and servers have clocks that run at different rates, and may be set. So a member is taken
// to be here while its row goes on changing, and a target's owner to be gone when its row has not
// changed for long enough, by the clock of who looks.
//
// Thread-compatible. Times are monotonic nanoseconds.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/cluster/protocol_options.h"
#include "server/cluster/store.h"

namespace headgate::cluster {

struct ObservedMember {
  MemberView view;
  int64_t changed_at_ns = 0;  // when it was seen to have been here once more
  int64_t here_since_ns = 0;  // without having been away for a lease
  bool was_away = false;      // already when it was first seen, and has not come back
};

struct ObservedRow {
  OwnershipView view;
  int64_t changed_at_ns = 0;
  uint64_t tried_renewal = 0;  // a claim of the row with this renewal was sent
};

class Observations {
 public:
  explicit Observations(const ProtocolOptions& options) : options_(options) {}

  void Note(const RoundReply& reply, int64_t now_ns);

  bool HasAny() const { return has_any_; }
  int64_t newest_ns() const { return newest_ns_; }
  const std::map<std::string, ObservedMember>& members() const { return members_; }
  // By target.
  std::map<std::string, ObservedRow>& rows() { return rows_; }
  const std::map<std::string, ObservedRow>& rows() const { return rows_; }
  // Null: it is not here.
  const ObservedMember* MemberHere(const std::string& name, int64_t now_ns) const;
  const ObservedRow* Row(const std::string& target) const;
  uint64_t overrides_revision() const { return overrides_revision_; }

  // Who may be given targets: is here, stays, and is not drained. Where there is nobody, drained
  // members too.
  std::vector<std::string> Candidates(int64_t now_ns) const { return Candidates(now_ns, nullptr); }
  // Those of them that have been here for a while: who came just now knows least of what became
  // free. Where there is nobody, all. Of a target whose owner only some may replace: of those.
  std::vector<std::string> SettledCandidates(int64_t now_ns, const MemberRow* keeper) const;
  bool IsSettled(const ObservedMember& member, int64_t now_ns) const;

  // From when on a row may be claimed, and under which condition from now on.
  int64_t ClaimableAt(const ObservedRow& row) const;
  Claim ClaimOf(const std::string& target, const ObservedRow* row, int64_t now_ns) const;

 private:
  std::vector<std::string> Candidates(int64_t now_ns, const MemberRow* keeper) const;
  bool IsHere(const ObservedMember& member, int64_t now_ns) const;

  const ProtocolOptions& options_;
  bool has_any_ = false;
  int64_t newest_ns_ = 0;
  std::map<std::string, ObservedMember> members_;
  std::map<std::string, ObservedRow> rows_;
  uint64_t overrides_revision_ = 0;
};

}  // namespace headgate::cluster
