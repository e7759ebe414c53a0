// How long Checks have waited since the start, by target and by what they waited for: what
// monitoring reads.
//
// Bounded: beyond so many kinds, further ones are counted without a target. Totals only grow.
// Thread-compatible.
//
//   WaitTotals totals;
//   totals.Add(key, waits);
//   for (const auto& [kind, sum] : totals.all()) ...

#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct WaitTotal {
  std::string target;
  engine::Reason reason = engine::Reason::kNone;

  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the comparison's 0 for a pointer.
  friend auto operator<=>(const WaitTotal&, const WaitTotal&) = default;
};

class WaitTotals {
 public:
  using All = std::map<WaitTotal, Waits>;

  explicit WaitTotals(size_t most = 8192) : most_(most) {}

  void Add(const RowKey& key, const Waits& waits) {
    WaitTotal kind{key.target, key.cause.reason};
    if (all_.size() >= most_ && !all_.contains(kind)) kind.target.clear();
    all_[kind].Add(waits);
  }

  const All& all() const { return all_; }

 private:
  const size_t most_;
  All all_;
};

}  // namespace headgate::throttle_log
