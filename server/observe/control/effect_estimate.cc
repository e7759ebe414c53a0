#include "server/observe/control/effect_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headgate::control {
namespace {

constexpr size_t kMaxFlows = 512;
// Fewer cannot tell a trend from an effect.
constexpr size_t kTrendTakes = 7;
constexpr double kLeastContrast = 1e-6;

bool IsQuiet(const Flow& flow) { return flow.in_flight < kNoWork; }

// Means, and weighted sums of products of deviations from them.
struct Moments {
  double weight = 0, t = 0, u = 0, y = 0;
  double tt = 0, tu = 0, ty = 0, uu = 0, uy = 0, yy = 0;

  // Welford's step, for three variables at once.
  void Add(double w, double t_i, double u_i, double y_i) {
    weight += w;
    const double share = w / weight;
    const double dt = t_i - t, du = u_i - u, dy = y_i - y;
    t += share * dt;
    u += share * du;
    y += share * dy;
    const double rest = w * (1 - share);
    tt += rest * dt * dt;
    tu += rest * dt * du;
    ty += rest * dt * dy;
    uu += rest * du * du;
    uy += rest * du * dy;
    yy += rest * dy * dy;
  }

  void TakeOutTrend() {
    uu -= tu * tu / tt;
    uy -= tu * ty / tt;
    yy -= ty * ty / tt;
  }
};

}  // namespace

bool EffectEstimate::Is(const Flow& flow, Kind kind) {
  return kind == Kind::kAll || IsQuiet(flow) == (kind == Kind::kQuiet);
}

void EffectEstimate::Add(const Flow& flow) {
  if (!flows_.empty() && flows_.back().source != flow.source) flows_.clear();
  flows_.push_back(flow);
  if (flows_.size() > kMaxFlows) flows_.pop_front();
}

void EffectEstimate::KeepLast(double seconds) {
  while (!flows_.empty() && flows_.front().at < flows_.back().at - seconds) flows_.pop_front();
}

void EffectEstimate::KeepQuietEnd() {
  const auto last = std::find_if_not(flows_.rbegin(), flows_.rend(), IsQuiet);
  flows_.erase(flows_.begin(), last.base());
}

double EffectEstimate::Seconds(Kind kind) const {
  double seconds = 0;
  for (const Flow& flow : flows_) seconds += Is(flow, kind) ? flow.seconds : 0;
  return seconds;
}

double EffectEstimate::Mean(Kind kind, double Flow::*value) const {
  double sum = 0, seconds = 0;
  for (const Flow& flow : flows_) {
    if (!Is(flow, kind) || !flow.Knows(value)) continue;
    sum += flow.*value * flow.seconds;
    seconds += flow.seconds;
  }
  return seconds > 0 ? sum / seconds : 0;
}

double EffectEstimate::QuietEnd() const {
  double seconds = 0;
  for (auto flow = flows_.rbegin(); flow != flows_.rend() && IsQuiet(*flow); ++flow) {
    seconds += flow->seconds;
  }
  return seconds;
}

double EffectEstimate::Step() const {
  double done[2] = {}, seconds[2] = {};
  bool worked = false;
  for (const Flow& flow : flows_) {
    worked |= !IsQuiet(flow);
    if (!IsQuiet(flow)) continue;
    done[worked ? 1 : 0] += flow.throughput * flow.seconds;
    seconds[worked ? 1 : 0] += flow.seconds;
  }
  if (done[0] <= 0 || done[1] <= 0) return 0;
  return std::log(done[1] / seconds[1]) - std::log(done[0] / seconds[0]);
}

// A run may have a gap of one flow.
std::vector<double> EffectEstimate::WorkByRun() const {
  std::vector<double> work(flows_.size());
  const auto runs = [this](size_t i) { return i < flows_.size() && !IsQuiet(flows_[i]); };
  for (size_t begin = 0; begin < flows_.size(); ++begin) {
    if (!runs(begin)) continue;
    double sum = 0, seconds = 0;
    size_t end = begin;
    for (; runs(end) || runs(end + 1); ++end) {
      sum += flows_[end].in_flight * flows_[end].seconds;
      seconds += flows_[end].seconds;
    }
    std::fill(work.begin() + static_cast<std::ptrdiff_t>(begin),
              work.begin() + static_cast<std::ptrdiff_t>(end), sum / seconds);
    begin = end;
  }
  return work;
}

std::optional<double> EffectEstimate::Difference(Value value) const {
  double sum[2] = {}, seconds[2] = {};
  for (const Flow& flow : flows_) {
    const std::optional<double> y = value(flow);
    if (!y.has_value()) continue;
    const size_t worked = IsQuiet(flow) ? 0 : 1;
    sum[worked] += *y * flow.seconds;
    seconds[worked] += flow.seconds;
  }
  if (seconds[0] <= 0 || seconds[1] <= 0) return std::nullopt;
  return sum[1] / seconds[1] - sum[0] / seconds[0];
}

std::optional<Effect> EffectEstimate::EffectOn(Value value) const {
  const std::vector<double> work = WorkByRun();
  Moments moments;
  size_t count = 0;
  for (size_t i = 0; i < flows_.size(); ++i) {
    const Flow& flow = flows_[i];
    const std::optional<double> y = value(flow);
    if (!y.has_value()) continue;
    moments.Add(flow.seconds, flow.at - flows_.front().at, work[i], *y);
    ++count;
  }
  const bool trend = count >= kTrendTakes && moments.tt > 0;
  if (trend) moments.TakeOutTrend();
  const double freedom = static_cast<double>(count) - (trend ? 3 : 2);
  if (freedom < 1 || moments.uu < kLeastContrast) return std::nullopt;
  Effect effect;
  effect.each = moments.uy / moments.uu;
  effect.alone = moments.y - effect.each * moments.u;
  effect.contrast = moments.uu;
  effect.noise = std::max(0.0, moments.yy - effect.each * moments.uy) / freedom;
  effect.freedom = freedom;
  return effect;
}

}  // namespace headgate::control
