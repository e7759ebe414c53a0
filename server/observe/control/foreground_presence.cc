#include "server/observe/control/foreground_presence.h"

#include <algorithm>
#include <cmath>

namespace headgate::control {
namespace {

constexpr double kMany = 20;     // transactions or statements a second
constexpr double kActive = 0.3;  // sessions
constexpr double kActiveHalfLife = 0.25, kFewSeconds = 0.5, kWriteSeconds = 1;
// A foreground that has gone is forgotten in kFewSeconds * ln(kCounted / kFewest), 0.8 s.
constexpr double kCounted = 8, kFewest = 1.5;
// Times in a minute.
constexpr double kOftenMet = 4;
// One burst of statements, as a monitor's, is not a foreground.
constexpr int kInARow = 2;

}  // namespace

void Presence::Age(const Flow& flow, double active) {
  const double keep = std::exp2(-flow.seconds / kActiveHalfLife);
  active_ = active_ * keep + active * (1 - keep);
  unasked_ = flow.asked ? 0 : unasked_ + flow.seconds;
  writes_ += (1 - std::exp(-flow.seconds / kWriteSeconds)) * (flow.transactions - writes_);
  const bool runs = flow.source != Flow::Source::kTransactionIds && flow.throughput > kMany;
  // Who is met at work goes on with what was seen to read, or is met too often for a monitor.
  met_ = met_ * std::exp(-flow.seconds / kReadAfter) + (active > 0 ? 1 : 0);
  const bool is_often_met = met_ >= kOftenMet && few_ <= kFewest;
  const bool is_met = active > 0 && (unread_ < kReadAfter || is_often_met);
  const bool reads = std::max(writes_, flow.transactions) <= kMany && (is_met || runs);
  unread_ = reads ? 0 : unread_ + flow.seconds;
}

void Presence::Glance(const Flow& glance, double active) {
  Age(glance, active);
  many_ = glance.throughput > kMany ? many_ + 1 : 0;
  if (many_ >= kInARow || active_ > kActive) foreground_ = Foreground::kBusy;
}

void Presence::Look(const Flow& flow, double active) {
  Age(flow, active);
  const double keep_few = std::exp(-flow.seconds / kFewSeconds);
  few_ = few_ * keep_few + std::min(flow.throughput, kCounted) * (1 - keep_few);
  many_ = flow.throughput > kMany ? many_ + 1 : 0;

  const bool was_busy = foreground_ == Foreground::kBusy;
  const bool may_read = flow.source != Flow::Source::kStatements && unread_ < kReadAfter;
  if (many_ >= kInARow || (was_busy && (many_ > 0 || may_read)) || active_ > kActive) {
    foreground_ = Foreground::kBusy;
  } else {
    foreground_ = few_ > kFewest ? Foreground::kSparse : Foreground::kNone;
  }
}

}  // namespace headgate::control
