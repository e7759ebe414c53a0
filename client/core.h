// Core: what a Client and its Permits share. It asks, waits, and decides when nobody answers.
//
// Thread-safe. Permits keep it alive; after Stop it reports nothing more.

#pragma once

#include <headgate/client.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/fallback.h"
#include "client/jitter.h"
#include "client/reporter.h"

namespace headgate::client::internal {

class Core : public std::enable_shared_from_this<Core> {
 public:
  // The options are valid; options.time is set. `seed` overrides options.seed.
  Core(const ClientOptions& options, uint64_t seed, std::shared_ptr<Transport> transport);

  absl::StatusOr<Answer> Check(const CheckRequest& request, const std::stop_token& stop);
  absl::StatusOr<Permit> CheckOrWait(const CheckRequest& request, absl::Duration max_wait,
                                     const std::stop_token& stop);
  absl::Status Report(const PermitReport& report);
  absl::StatusOr<ReportResult> ReportNow(const PermitReport& report, const std::stop_token& stop);

  const ClientOptions& options() const { return options_; }
  Reporter& reporter() { return reporter_; }

 private:
  // With the client's own names and an id where the request has none. InvalidArgument for a cost
  // that no policy could count.
  absl::StatusOr<CheckRequest> Complete(const CheckRequest& request);
  absl::StatusOr<Answer> Ask(const CheckRequest& request, const std::stop_token& stop);
  // Calls until the result is something else than Unavailable, or the deadline too near.
  absl::Status Retry(const std::stop_token& stop,
                     absl::FunctionRef<absl::Status(absl::Duration timeout)> call);
  // How long to wait after an answer that is no permit; the error to end with if that won't help.
  // `failures` counts errors in a row.
  absl::StatusOr<absl::Duration> PauseAfter(const absl::StatusOr<Answer>& answer, int& failures);

  const ClientOptions options_;
  TimeSource& time_;
  const std::shared_ptr<Transport> transport_;
  Jitter jitter_;
  Fallback fallback_;
  Reporter reporter_;
};

}  // namespace headgate::client::internal
