#include "tests/demo/foreground.h"

#include <algorithm>

#include "common/system_clock.h"

namespace headgate::demo {
namespace {

// Of what was measured, while caches were cold.
constexpr double kColdShare = 0.4;
constexpr double kLeast = 100;  // transactions a second

absl::Time Now() { return SystemClock::ReadKernel().wall(); }

}  // namespace

absl::StatusOr<std::unique_ptr<load::Pgbench>> StartForeground(Stage& stage,
                                                               const Interrupt& interrupt,
                                                               absl::Duration warm_up) {
  load::PgbenchOptions options = stage.foreground();
  absl::StatusOr<std::unique_ptr<load::Pgbench>> fastest = load::Pgbench::Start(options);
  if (!fastest.ok()) return fastest;
  const absl::Time from = Now() + kColdShare * warm_up;
  if (absl::Status status = interrupt.Wait(warm_up); !status.ok()) return status;
  if (absl::Status status = (*fastest)->Poll(); !status.ok()) return status;
  const double most = (*fastest)->transactions().Over({{.from = from, .to = Now()}}).per_second;
  if (absl::Status status = (*fastest)->Stop(); !status.ok()) return status;
  options.rate_per_second = std::max(kForegroundShare * most, kLeast);
  return load::Pgbench::Start(options);
}

}  // namespace headgate::demo
