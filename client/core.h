// Core: what a Client and its Permits share. It asks, waits, and decides when nobody answers.
//
// CheckOrWait waits in the server, in slices: one Check stands in line for at most 30 s, and the
// next one takes its place. The first Check, and the one after a failure, stands there for half of
// check_deadline only, so that a server which does not answer is noticed within check_deadline. A
// server that does not let a Check wait answers at once; then CheckOrWait waits here for
// retry_after, with jitter.
//
// Thread-safe. Permits keep it alive; after Stop it reports nothing more.

#pragma once

#include <headgate/client.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/fallback.h"
#include "client/jitter.h"
#include "client/reporter.h"
#include "common/mutex.h"

namespace headgate::client::internal {

class LeaseRunner;

// Ok, or InvalidArgument that names the field.
absl::Status ValidCost(double cost, const char* field);
absl::Status Valid(const WorkDone& done);

class Core : public std::enable_shared_from_this<Core> {
 public:
  // The options are valid; options.time is set. `seed` overrides options.seed.
  Core(const ClientOptions& options, uint64_t seed, std::shared_ptr<Transport> transport);

  absl::StatusOr<Answer> Check(const CheckRequest& request, const std::stop_token& stop);
  absl::StatusOr<Permit> CheckOrWait(const CheckRequest& request, absl::Duration max_wait,
                                     const std::stop_token& stop);
  absl::Status Report(const PermitReport& report);
  absl::StatusOr<ReportResult> ReportNow(const PermitReport& report, const std::stop_token& stop);

  // A Check for a lease, which may wait for so long. What nobody answers is not decided here.
  absl::StatusOr<Answer> AskForLease(const CheckRequest& request, absl::Duration max_wait,
                                     const std::stop_token& stop);
  // Waits for an order that takes leases back, once: see Transport::WatchLease.
  absl::StatusOr<uint64_t> WatchLease(const LeaseWatch& watch, const std::stop_token& stop);
  // What OnUnreachable says of a piece of this cost; none: it says nothing.
  std::optional<Answer> DecideAlone(double cost);
  bool WaitsForServer() const {
    return options_.on_unreachable.kind() == OnUnreachable::Kind::kWait;
  }
  // Those are closed before reports end.
  void Add(const std::shared_ptr<LeaseRunner>& lease) ABSL_LOCKS_EXCLUDED(leases_mutex_);
  void CloseLeases() ABSL_LOCKS_EXCLUDED(leases_mutex_);

  const ClientOptions& options() const { return options_; }
  Reporter& reporter() { return reporter_; }
  Jitter& jitter() { return jitter_; }

 private:
  // What one CheckOrWait remembers from question to question.
  struct Patience {
    int failures = 0;  // errors in a row
    // A server that stopped has sent it away: until then nobody answering is no failure.
    absl::Duration returns_until = -absl::InfiniteDuration();
  };

  // With the client's own names and an id where the request has none. InvalidArgument for a cost
  // that no policy could count.
  absl::StatusOr<CheckRequest> Complete(const CheckRequest& request);
  // The answer to a call that may go. Its max_wait becomes what was sent last: a retry may wait for
  // less.
  absl::StatusOr<Answer> AskServer(CheckRequest& request, absl::Duration timeout,
                                   const std::stop_token& stop);
  // Within `timeout`; where nobody answers, what OnUnreachable says.
  absl::StatusOr<Answer> Ask(CheckRequest& request, absl::Duration timeout,
                             const std::stop_token& stop);
  // The same as one slice of a wait that may last for `left`.
  absl::StatusOr<Answer> AskInLine(CheckRequest& request, absl::Duration left,
                                   const std::stop_token& stop);
  // Calls until the result is something else than Unavailable, or the deadline too near. After the
  // first failure no more time is left than check_deadline.
  absl::Status Retry(absl::Duration timeout, const std::stop_token& stop,
                     absl::FunctionRef<absl::Status(absl::Duration timeout)> call);
  // How long to wait after an answer that is no permit; the error to end with if that won't help.
  absl::StatusOr<absl::Duration> PauseAfter(const absl::StatusOr<Answer>& answer,
                                            Patience& patience);

  const ClientOptions options_;
  TimeSource& time_;
  const std::shared_ptr<Transport> transport_;
  Jitter jitter_;
  Fallback fallback_;
  Reporter reporter_;
  Mutex leases_mutex_;
  std::vector<std::weak_ptr<LeaseRunner>> leases_ ABSL_GUARDED_BY(leases_mutex_);
};

}  // namespace headgate::client::internal
