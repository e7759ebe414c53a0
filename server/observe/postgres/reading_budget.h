// ReadingBudget: how often pg_stat_statements may be read, so that it stays cheap for the server.
//
// A reading costs the server about 2.6 µs for each entry of the view, 13 ms where there are 5,000.
// It is asked for so seldom that this takes no more than kShare of one core. What is not spent is
// saved up for a few readings, so that two may follow each other closely; one that is wanted in any
// case is made, and owed.
//
// Thread-compatible.
//
//   if (budget.Allows(wish, now_ns)) { ... budget.Spend(entries, now_ns); }
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/observe/health/probe.h"

namespace headgate::postgres {

class ReadingBudget {
 public:
  static constexpr double kShare = 0.00045;  // of one core
  static constexpr double kReadingSeconds = 3e-4, kEntrySeconds = 2.6e-6;

  bool Allows(health::StatementsWish wish, int64_t now_ns) {
    Save(now_ns);
    switch (wish) {
      case health::StatementsWish::kNow:
        return saved_ >= -kMostOwed * cost_;
      case health::StatementsWish::kPair:
        return saved_ >= cost_;
      case health::StatementsWish::kSpare:
        return saved_ >= 2 * cost_;
    }
    return false;
  }

  // `entries`: as many as the view has now.
  void Spend(int64_t entries, int64_t now_ns) {
    Save(now_ns);
    cost_ = kReadingSeconds + kEntrySeconds * static_cast<double>(entries);
    saved_ -= cost_;
  }

 private:
  static constexpr double kMostSaved = 3, kMostOwed = 1;  // readings

  void Save(int64_t now_ns) {
    const double seconds = static_cast<double>(now_ns - at_ns_) / 1e9;
    if (seconds > 0) saved_ = std::min(kMostSaved * cost_, saved_ + kShare * seconds);
    at_ns_ = now_ns;
  }

  double cost_ = kReadingSeconds;  // s, of a reading
  double saved_ = 0;               // s
  int64_t at_ns_ = 0;
};

}  // namespace headgate::postgres
