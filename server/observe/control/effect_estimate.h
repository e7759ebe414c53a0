// EffectEstimate: what a unit of batch work does to the foreground, from a stretch of time in which
// there was more of it and less of it.
//
// Least squares of the foreground's throughput, or occupancy, against time and batch work in
// flight. The trend in time takes out what would have changed anyway. Whether the batch was kept
// out on purpose or just did not run makes no difference. Within one run of batch work its average
// counts: how much was at work in each flow is known too badly, and would make the effect look
// smaller.
//
// Thread-compatible.

#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/observe/control/flow_meter.h"

namespace headgate::control {

// Batch work in flight below this counts as none.
inline constexpr double kNoWork = 0.01;

// y = alone + each * batch work in flight.
struct Effect {
  double alone = 0;
  double each = 0;
  double contrast =
      0;             // sum of squares of batch work over time: noise / contrast = variance of each
  double noise = 0;  // variance of y over one second that is not explained
  double freedom = 0;  // degrees that `noise` is from
};

class EffectEstimate {
 public:
  enum class Kind : uint8_t { kQuiet, kWorked, kAll };  // without batch work, with it

  // Flows of another source than those before replace them.
  void Add(const Flow& flow);
  void Clear() { flows_.clear(); }
  void KeepLast(double seconds);
  // Keeps the quiet end, as the beginning of what comes next.
  void KeepQuietEnd();

  Flow::Source source() const {
    return flows_.empty() ? Flow::Source::kTransactionIds : flows_.back().source;
  }
  double Seconds(Kind kind) const;
  // Of the flows that know it; 0 where none does.
  double Mean(Kind kind, double Flow::*value) const;
  double QuietEnd() const;  // seconds since batch work ran last
  // Logarithm of how throughput changed from before batch work ran to after it; 0: not known.
  double Step() const;

  // What is compared; empty where a flow does not have it.
  using Value = absl::FunctionRef<std::optional<double>(const Flow&)>;
  // Empty without contrast.
  std::optional<Effect> EffectOn(Value value) const;
  std::optional<Effect> EffectOn(double Flow::*value) const {
    return EffectOn([value](const Flow& flow) { return std::optional<double>(flow.*value); });
  }
  // How much `value` is higher with batch work than without, on average.
  std::optional<double> Difference(Value value) const;

 private:
  static bool Is(const Flow& flow, Kind kind);
  std::vector<double> WorkByRun() const;

  std::deque<Flow> flows_;
};

}  // namespace headgate::control
