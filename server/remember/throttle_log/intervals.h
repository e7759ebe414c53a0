// Throttled intervals: when an identity was held back, and by what.
//
// A step in which at least `min_denied_ratio` of the Checks were denied, or in which at least one
// Check waited for that share of the time, is throttled. Throttled steps that lie no further apart
// than `max_gap_s` make one interval, and what happened between them belongs to it. Where the
// filter names reasons, budgets or signals, only denials by those and waits for those count, and
// others are left out; what was allowed always counts.
//
// Of a level with several identities, the one that waited most says for how much of a step it was
// held.
//
// Memory: what is open for each identity (kMaxTracked at most), and one page. Thread-safe.
//
//   absl::StatusOr<IntervalPage> page = FindIntervals(store, {.filter = {.from_s = ..., ...}});
//   for (const Interval& interval : page->intervals) Show(Sentence(interval));  // interval_text.h

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/held_bytes.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

// Identities on targets, in all the time that is looked at.
inline constexpr size_t kMaxTracked = 200'000;

struct CauseCount {
  Cause cause;
  Counts counts;  // denied Checks, their cost, the peak, and how Checks waited for it
};

// What was decided in some time.
struct Tally {
  int64_t from_s = 0;
  int64_t to_s = 0;  // exclusive
  int64_t allowed = 0;
  int64_t denied = 0;
  double denied_cost = 0;
  OptionalWaits waits = {};
  int64_t held_ns = 0;  // in which at least one Check waited
  std::vector<CauseCount> causes = {};

  bool empty() const { return to_s == 0; }
  // Of the time that has passed when it is `now_s`.
  double HeldShare(int64_t now_s) const;
  void Add(const Row& row);
  void Add(const Tally& later);
};

struct Interval {
  std::string identity;
  std::string target;
  Tally tally;  // the cause that was waited for longest first, then that of the most denials
  double held_share = 0;
};

struct IntervalQuery {
  ScanFilter filter = {};  // outcomes and sum_over_s are ignored
  int level = 0;           // of identities: see LevelOf
  double min_denied_ratio = 0.5;
  int64_t max_gap_s = 60;
  // Of a step that is not over yet, only what has passed counts.
  int64_t now_s = std::numeric_limits<int64_t>::max();
  bool newest_first = false;  // by their end, the latest first
  size_t page_size = 100;
  std::optional<Interval> after = {};  // the last of the page before
  HeldBytes* held = nullptr;           // counts what this takes meanwhile; null: nobody does
};

struct IntervalPage {
  std::vector<Interval> intervals;  // by beginning or end, identity and target
  bool more = false;
};

// ResourceExhausted: too many identities. Else the store's errors.
absl::StatusOr<IntervalPage> FindIntervals(const Store& store, const IntervalQuery& query);

}  // namespace headgate::throttle_log
