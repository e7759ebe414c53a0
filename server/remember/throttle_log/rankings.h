// The rest of sums in an order by counts, for the pages that follow the first.
//
// Counts grow while somebody turns pages, and a group that overtakes another would be shown twice
// or not at all. So what the first page found is kept for a while: the newest rankings only, and so
// many groups in all, about 300 bytes each. A page of one that is not kept any more has to be made
// from the counts as they are then.
//
// Whoever asks has to name the question that the ranking answered: its number alone gives nothing
// away. Thread-safe.
//
//   const uint64_t number = rankings.Keep(question, std::move(page.rest), now);
//   std::optional<SumPage> next = rankings.Page({number, 0}, question, page_size, now);

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/remember/throttle_log/query.h"

namespace headgate::throttle_log {

// Where a page begins.
struct RankingPlace {
  uint64_t number = 0;  // 0: of none
  uint64_t first = 0;   // how many groups of it were shown
};

class Rankings {
 public:
  struct Options {
    uint64_t first_number = 1;  // another one after each start, as old numbers come back then
    size_t most_groups = 100'000;
    size_t most_rankings = 16;
    absl::Duration keep = absl::Minutes(1);  // after it was last asked for
    HeldBytes* held = nullptr;               // counts what is kept; null: nobody does
  };

  explicit Rankings(const Options& options)
      : options_(options), next_number_(options.first_number), held_(options.held) {}

  // Returns its number; 0: it has too many groups to be kept.
  uint64_t Keep(std::string question, std::vector<Sum> sums, Now now);

  // None: it is not kept any more, or answers another question. `rest` stays empty.
  std::optional<SumPage> Page(RankingPlace place, std::string_view question, size_t page_size,
                              Now now);

 private:
  struct Ranking {
    uint64_t number = 0;
    std::string question;
    std::vector<Sum> sums;
    int64_t bytes = 0;     // of memory
    int64_t asked_ns = 0;  // monotonic
  };

  void DropOld(Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Mutex mutex_;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_);
  std::deque<Ranking> rankings_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  size_t groups_ ABSL_GUARDED_BY(mutex_) = 0;             // of all of them
  HeldBytes::Share held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::throttle_log
