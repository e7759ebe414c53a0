// Transactions: what a foreground did, transaction by transaction, for throughput and percentiles
// over any windows of time.
//
// Exact: every transaction is kept, 16 bytes each. Times are those of the wall clock, as pgbench
// writes them. Thread-compatible.
//
//   const ForegroundStats alone = transactions.Over({{.from = a, .to = b}, {.from = c, .to = d}});
//   alone.per_second; alone.p99;
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace headgate::load {

// `to` is exclusive.
struct Window {
  absl::Time from;
  absl::Time to;
};

struct Transaction {
  int64_t ended_us = 0;  // since the Unix epoch
  int64_t latency_us = 0;
};

struct ForegroundStats {
  int64_t count = 0;
  double per_second = 0;
  absl::Duration mean = {};
  absl::Duration deviation = {};  // standard, of the latencies
  absl::Duration p50 = {};
  absl::Duration p99 = {};
};

class Transactions {
 public:
  // A complete line of pgbench's log of transactions. False if it is none.
  bool AddLine(std::string_view line);
  void Add(const Transaction& transaction);

  // Those that ended in the windows, taken together. The windows must not overlap.
  ForegroundStats Over(absl::Span<const Window> windows) const;

  void CopyTo(Transactions& other) const {
    for (const Transaction& transaction : all_) other.Add(transaction);
  }

  bool empty() const { return all_.empty(); }
  absl::Time last() const { return absl::FromUnixMicros(all_.back().ended_us); }

 private:
  std::vector<Transaction> all_;  // by ended_us
};

}  // namespace headgate::load
