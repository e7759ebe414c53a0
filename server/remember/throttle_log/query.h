// Sums over the throttle log: Checks and costs, split by whatever is asked for, a page at a time.
//
// Works on any Store, and on what it holds when asked. Pages neither repeat nor skip a group while
// counts keep arriving: in the order of names each page goes on behind the last group of the one
// before, and an order by counts hands over all that is behind the page (rankings.h keeps it).
// Memory: a page in the order of names, max_groups in an order by counts.
//
// Pure functions of the store; thread-safe.
//
//   absl::StatusOr<SumPage> page = QuerySums(store, {.filter = {.from_s = ..., .to_s = ...},
//                                                    .by = {.identity = true}});

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/held_bytes.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

// Half open, seconds since the Unix epoch.
struct Period {
  int64_t from_s = 0;
  int64_t to_s = 0;
};

// The period widened to whole steps as the log has them `now`: what is old has coarse ones.
Period WholeSteps(Period period, const Retention& retention, absl::Time now);

// The last `level` segments; all of a shallower identity, and where the level is 0.
std::string_view LevelOf(std::string_view identity, int level);

// What sums are split by.
struct Grouping {
  bool step = false;
  bool identity = false;
  bool target = false;
  bool outcome = false;
  bool reason = false;
  bool budget = false;
  bool rule = false;
  bool signal = false;
  bool server = false;
};

// Fields that are not split by are as they are here. Ordered by time, then by name.
struct GroupKey {
  int64_t step_s = 0;
  std::string identity = {};
  std::string target = {};
  Outcome outcome = Outcome::kAllowed;
  engine::Reason reason = engine::Reason::kNone;
  std::string budget = {};
  std::string rule = {};
  std::string signal = {};
  std::string server = {};

  // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over its defaulted body.
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct Sum {
  GroupKey key;
  int64_t allowed = 0;  // and nothing objected
  int64_t would_be_denied = 0;
  int64_t denied = 0;
  int64_t folded = 0;  // of all these, those counted under a level above the identity that asked
  double allowed_cost = 0;  // cost units; would_be_denied included
  double denied_cost = 0;
  OptionalWaits waits = {};

  void Add(const Row& row);
  // Of memory.
  size_t bytes() const;
};

enum class SumOrder : uint8_t { kName, kMaxDenied, kMaxCostDenied, kMaxChecks, kMaxHeldBack };

struct SumQuery {
  ScanFilter filter = {};  // sum_over_s is chosen by QuerySums
  Grouping by = {};
  int level = 0;         // of identities: see LevelOf
  int64_t step_s = 0;    // of groups by step; 0: the log's own
  int64_t coarse_s = 0;  // Retention::coarse_step; 0: not known
  SumOrder order = SumOrder::kName;
  size_t page_size = 1000;
  size_t max_groups = 200'000;    // that an order by counts can sort
  std::optional<Sum> after = {};  // the last of the page before
  HeldBytes* held = nullptr;      // counts what the groups take meanwhile; null: nobody does
};

struct SumPage {
  std::vector<Sum> sums;
  bool more = false;
  std::vector<Sum> rest = {};  // in an order by counts: all that come behind the page
};

// ResourceExhausted: too many groups to sort by counts. Else the store's errors.
absl::StatusOr<SumPage> QuerySums(const Store& store, const SumQuery& query);

}  // namespace headgate::throttle_log
