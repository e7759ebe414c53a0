// WaitAccounts: how long Checks wait, by whose they are and by what they wait for, while it lasts.
//
// There is an account for each identity in each line. It knows how many wait, and since when all of
// them together; so what has been waited until now is told without looking at each Check, and the
// times of all rounds add up to what the Checks waited, to the nanosecond. What a line is at is
// known of the line: of one that is slowed by another signal than before, the time from the next
// round on goes under that.
//
// For how long an identity is held at all is measured for the identity, and shared among its
// accounts by how many wait in each.
//
// Memory: an identity that nobody waits for is forgotten with the round after. Of more than
// `most` at a time, further ones are counted under "*".
//
// Guarded by its owner; all but Take and Round are called for each Check that waits, and take a
// look-up in a hash table and a step in a tree.
//
//   accounts.Begin(waiting, line, answer.subject_key);
//   accounts.Finish(waiting, {WaitEnd::kAdmitted, true, now_ns});
//   WaitAccounts::Round round(now_ns);
//   while (accounts.Take(round, {lines, tickets}, counted)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "common/held_bytes.h"
#include "server/decide/engine/cause.h"
#include "server/decide/line/line_view.h"
#include "server/decide/line/waits.h"

namespace headgate::line {

class LineTable;
class TicketTable;
struct Line;
struct WaitingCheck;

// Whose Checks waited.
struct WaitSubject {
  std::string identity;  // "*": of many
  std::string target;
  bool folded = false;
};

// What one identity waited for one thing, since the round before.
struct CountedWaits {
  std::shared_ptr<const WaitSubject> subject;
  std::shared_ptr<const engine::Cause> cause;
  // What was compared when somebody was refused there last; 0: that is not known.
  double observed = 0;
  double limit_value = 0;
  Waits waits;
};

// One identity's in one line.
struct WaitAccount {
  uint64_t line_key = 0;
  std::shared_ptr<const engine::Cause> cause;
  double observed = 0;  // as in CountedWaits, when this was looked at last
  double limit_value = 0;
  absl::btree_set<uint64_t> tickets;  // of those who wait: the first has waited for longest
  // The sum of when each of them came to this line. It wraps, and so does what is computed with it;
  // the result is right, as it is small.
  uint64_t since_sum = 0;
  uint64_t ended_ns = 0;  // of those who are not here any more
  uint64_t taken_ns = 0;  // of all that was waited, in rounds before
  Waits waits;            // since the last round, but for what is waited now

  uint64_t WaitedBy(int64_t now_ns) const {
    return ended_ns + tickets.size() * static_cast<uint64_t>(now_ns) - since_sum;
  }
};

struct WaitingSubject {
  std::shared_ptr<const WaitSubject> subject;
  uint64_t key = 0;
  size_t waiting = 0;
  int64_t held_until_ns = 0;  // so far `held_ns` is counted
  absl::InlinedVector<WaitAccount, 1> accounts;
};

class WaitAccounts {
 public:
  // How a wait ended, and whether its caller was told a decision.
  struct End {
    WaitEnd end;
    bool answered;
    int64_t at_ns;
  };
  // Goes through all that there is when it begins.
  struct Round {
    explicit Round(int64_t at_ns) : now_ns(at_ns) {}
    int64_t now_ns;
    size_t left = SIZE_MAX;  // subjects that have not been looked at
  };

  // `held` counts what subjects take, and outlives this.
  WaitAccounts(size_t most, HeldBytes& held) : most_(most), held_(held) {}

  // It has come to wait in this line. The key is its subject's, as the engine has it.
  void Begin(WaitingCheck& waiting, const Line& line, uint64_t subject_key);
  // It waits in this line now instead of another.
  void Move(WaitingCheck& waiting, const Line& line, int64_t now_ns);
  void Finish(WaitingCheck& waiting, const End& end);

  // Appends what was counted of some subjects. False: there are no more in this round.
  struct Tables {
    const LineTable& lines;
    const TicketTable& tickets;
  };
  bool Take(Round& round, const Tables& tables, std::vector<CountedWaits>& counted);

  size_t subjects() const { return subjects_.size(); }

 private:
  WaitingSubject& SubjectOf(const WaitingCheck& waiting, const Line& line, uint64_t key);
  // Leaves the account that it is in.
  static WaitAccount& Part(WaitingCheck& waiting, int64_t now_ns);
  // What the line is at now, and what was compared there.
  static void NoteCause(WaitAccount& account, const Line& line);
  static void Join(WaitingCheck& waiting, const Line& line, int64_t now_ns);
  // Shares the time since the last event among its accounts.
  static void CountHeld(WaitingSubject& subject, int64_t now_ns);

  const size_t most_;
  HeldBytes& held_;
  absl::flat_hash_map<uint64_t, WaitingSubject*> by_key_;
  std::vector<std::unique_ptr<WaitingSubject>> subjects_;
};

}  // namespace headgate::line
