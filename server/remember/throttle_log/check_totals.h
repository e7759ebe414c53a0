// How many Checks there have been since the start, by all that is counted but who asked: what
// monitoring reads.
//
// Bounded: beyond so many kinds, further ones are counted without names. Totals only grow.
// Thread-compatible.
//
//   CheckTotals totals;
//   totals.Add(key, counts);
//   for (const auto& [kind, sum] : totals.all()) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct CheckTotal {
  std::string target;
  Outcome outcome = Outcome::kAllowed;
  engine::Reason reason = engine::Reason::kNone;
  engine::Limit limit = engine::Limit::kRule;  // as Cause has it
  std::string budget;
  std::string signal;

  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the comparison's 0 for a pointer.
  friend auto operator<=>(const CheckTotal&, const CheckTotal&) = default;
};

struct CheckSum {
  int64_t checks = 0;
  double cost = 0;  // predicted, cost units
};

class CheckTotals {
 public:
  using All = std::map<CheckTotal, CheckSum>;

  explicit CheckTotals(size_t most = 8192) : most_(most) {}
  // It remembers a place in itself.
  CheckTotals(const CheckTotals&) = delete;
  CheckTotals& operator=(const CheckTotals&) = delete;

  void Add(const RowKey& key, const Counts& counts);

  const All& all() const { return all_; }

 private:
  const size_t most_;
  All all_;
  All::value_type* last_ = nullptr;  // that was added to: the next is mostly of the same kind
};

}  // namespace headgate::throttle_log
