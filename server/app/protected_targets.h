// ProtectedTargets: which databases the targets are, so that none of them is taken for the store
// that servers agree through: it would be asked most when it can bear it least.
//
// A target that cannot be asked now, or does not tell, is not known to be the store; that is no
// reason not to start.
//
// Thread-safe. Update blocks for some seconds where targets do not answer.
//
//   ProtectedTargets targets(clock);
//   if (absl::Status refused = targets.Update(config.targets); !refused.ok()) return refused;
//   ... as the store is reached: targets.Accept(identity) ...

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/govern/config/config.h"
#include "server/share/store/database_identity.h"

namespace headgate::app {

// Asks a target, which may well be overloaded, for some seconds at most.
absl::StatusOr<store::DatabaseIdentity> Identify(const config::PostgresSource& target,
                                                 Clock& clock);

class ProtectedTargets {
 public:
  // The clock outlives it.
  explicit ProtectedTargets(Clock& clock) : clock_(clock) {}

  // Asks the targets that are not known yet who they are. FailedPrecondition: one is the database
  // that was accepted as the store; then nothing is taken over.
  absl::Status Update(const std::vector<config::TargetSettings>& targets)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // FailedPrecondition: this database cannot be the store.
  absl::Status Accept(const store::DatabaseIdentity& database) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Known {
    std::string target;
    config::PostgresSource source;
    store::DatabaseIdentity identity;
  };

  static std::vector<std::pair<std::string, store::DatabaseIdentity>> NamesOf(
      const std::vector<Known>& known);

  Clock& clock_;
  Mutex mutex_;
  std::vector<Known> known_ ABSL_GUARDED_BY(mutex_);
  std::optional<store::DatabaseIdentity> store_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
