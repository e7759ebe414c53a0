// What a server has seen of the others, and when by its own clock.
//
// Store and servers have clocks that run at different rates, and may be set. So a member is taken
// to be here while its row goes on changing, and a target's owner to be gone when its row has not
// changed for long enough, by the clock of who looks.
//
// Thread-compatible. Times are monotonic nanoseconds.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/share/cluster/protocol_options.h"
#include "server/share/cluster/store.h"

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

  // What this process itself could own by now, which the store may not know yet.
  void SetOwnOffers(Offers offers) { own_offers_ = std::move(offers); }
  const SharedOffers& own_offers() const { return own_offers_; }
  Fit OwnFit(const std::string& target) const { return cluster::FitOf(*own_offers_, target); }
  // Of one that says nothing of what it has: it is taken to have all, and to measure it.
  Fit FitOf(const std::string& name, const std::string& target) const;
  // Who may be given a target: is here, stays, has it, and keeps its state. The first of these of
  // which there is somebody: who measures all of it or has not tried, and is not drained; the same,
  // and drained; who measures a part, likewise; who does not reach it. At last, where somebody
  // lacks the target, who says nothing of what it has, as it would give the target to anybody.
  struct Asked {
    const std::string& target;
    int64_t now_ns = 0;
    const MemberRow* keeper = nullptr;  // whose target only some may have; null: anybody may
    std::string_view without = {};      // a member that is none
  };
  std::vector<std::string> Candidates(const Asked& asked) const;
  // Those of them that have been here for a while: who came just now knows least of what became
  // free. Where there is nobody, all.
  std::vector<std::string> SettledCandidates(const Asked& asked) const;
  // All of whatever kind, the best first.
  std::vector<std::string> AllCandidates(const Asked& asked) const;
  bool IsSettled(const ObservedMember& member, int64_t now_ns) const;

  // From when on a row may be claimed, and under which condition from now on.
  int64_t ClaimableAt(const ObservedRow& row) const;
  Claim ClaimOf(const std::string& target, const ObservedRow* row, int64_t now_ns) const;

 private:
  // By kind, as above.
  std::array<std::vector<std::string>, 7> CandidatesByKind(const Asked& asked) const;
  bool IsHere(const ObservedMember& member, int64_t now_ns) const;

  const ProtocolOptions& options_;
  SharedOffers own_offers_ = Offers();
  bool has_any_ = false;
  int64_t newest_ns_ = 0;
  std::map<std::string, ObservedMember> members_;
  std::map<std::string, ObservedRow> rows_;
  uint64_t overrides_revision_ = 0;
};

}  // namespace headgate::cluster
