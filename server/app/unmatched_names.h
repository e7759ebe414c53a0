// Jobs that no rule matches, and one would match if capitals did not count: what status warns of.
//
// A warning stays until no such Check has come for kRecent, or other rules are in force. It knows
// at most kMost names. Thread-safe.
//
//   UnmatchedNames names(clock);
//   names.Apply(config.identity_names);
//   names.Note("job-7:ETL", 3);
//   for (const std::string& warning : names.Warnings()) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/govern/config/identity_names.h"

namespace headgate::app {

class UnmatchedNames {
 public:
  static constexpr size_t kMost = 16;
  static constexpr absl::Duration kRecent = absl::Minutes(10);

  // The clock outlives this.
  explicit UnmatchedNames(Clock& clock) : clock_(clock) {}

  // Of the rules that are in force from now on. Null: there are none.
  void Apply(std::shared_ptr<const config::IdentityNames> names) ABSL_LOCKS_EXCLUDED(mutex_);
  // Checks that no rule matched.
  void Note(std::string_view identity, int64_t checks) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> Warnings() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Seen {
    int64_t checks = 0;
    int64_t last_ns = 0;
    std::string identity;  // that was seen first
    std::string rule;
  };

  Clock& clock_;
  mutable Mutex mutex_;
  std::shared_ptr<const config::IdentityNames> names_ ABSL_GUARDED_BY(mutex_);
  // By how it is spelled, and how the rule spells it.
  std::map<std::pair<std::string, std::string>, Seen> seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
