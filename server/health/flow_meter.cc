#include "server/health/flow_meter.h"

#include <algorithm>
#include <cmath>

namespace headgate::health {
namespace {

// Where statistics are reset or evicted again and again they are of no use.
constexpr int64_t kDistrustNs = 10'000'000'000;
// How long to wait for statements, which are not in every sample where there are many.
constexpr int64_t kPatienceNs = 600'000'000;
// After a longer pause the counters say nothing about now.
constexpr int64_t kLongestNs = 3'000'000'000;
constexpr double kMaxIdsEach = 20;
constexpr double kAlikeShare = 0.3;
// As often must permits be outstanding with no session of batch work in sight.
constexpr int kUnseen = 8;
constexpr double kNewestChunk = 0.3;  // its weight in the average

}  // namespace

bool FlowMeter::Continues(const ControlSample& sample) const {
  if (!from_.has_value()) return false;
  const int64_t elapsed_ns = sample.work.sampled_at_ns - from_->work.sampled_at_ns;
  return elapsed_ns > 0 && elapsed_ns <= kLongestNs &&
         sample.work.next_xid >= from_->work.next_xid && sample.checks >= from_->checks &&
         sample.transactions >= from_->transactions && sample.busy_seconds >= from_->busy_seconds;
}

bool FlowMeter::CanTrust(const ControlSample& sample) {
  const auto& before = from_->work.statements;
  const auto& after = sample.work.statements;
  if (before.has_value() && after.has_value() &&
      (before->generation != after->generation || after->calls < before->calls ||
       after->busy_seconds < before->busy_seconds)) {
    distrusted_until_ns_ = sample.work.sampled_at_ns + kDistrustNs;
  }
  return before.has_value() && sample.work.sampled_at_ns >= distrusted_until_ns_;
}

FlowMeter::Outcome FlowMeter::Take(const ControlSample& sample, Flow& flow) {
  TellApart(sample);
  active_ = std::max(0.0, sample.work.foreground_active - OwnSessions(sample));
  if (!Continues(sample)) {
    from_ = sample;
    return Outcome::kBroken;
  }
  const int64_t elapsed_ns = sample.work.sampled_at_ns - from_->work.sampled_at_ns;
  const bool trusted = CanTrust(sample);
  const bool has_statements = sample.work.statements.has_value();
  if (trusted && !has_statements && elapsed_ns < kPatienceNs) return Outcome::kMore;

  flow = {};
  flow.seconds = static_cast<double>(elapsed_ns) / 1e9;
  flow.at = static_cast<double>(sample.work.sampled_at_ns) / 1e9 - flow.seconds / 2;
  flow.asked = sample.checks > from_->checks;
  flow.in_flight = InFlight(sample, flow.seconds);
  CountTransactions(sample, flow);
  if (trusted && has_statements) CountStatements(sample, flow);
  from_ = sample;
  return Outcome::kFlow;
}

void FlowMeter::TellApart(const ControlSample& sample) {
  const bool at_work = sample.outstanding > 0;
  counts_permits_ |= at_work;
  sees_batch_ |= sample.work.batch_active > 0;
  if (at_work && !sees_batch_) ++unseen_;
}

// A permit that nobody will report counts for nothing where its session is not seen either.
double FlowMeter::Permits(const ControlSample& sample) const {
  const auto outstanding = static_cast<double>(sample.outstanding);
  if (!counts_permits_) return sample.work.batch_active;
  return sees_batch_ ? std::min(outstanding, sample.work.batch_active) : outstanding;
}

double FlowMeter::OwnSessions(const ControlSample& sample) const {
  const bool mingled = !sees_batch_ && unseen_ >= kUnseen;
  return mingled ? static_cast<double>(sample.outstanding) : 0;
}

// A permit that is there at both ends was there all the time, and one that was given out or
// reported in between cannot have worked for longer than that. Of what is outstanding at an end,
// half lies on the other side on average.
double FlowMeter::InFlight(const ControlSample& sample, double seconds) {
  const double before = Permits(*from_), after = Permits(sample);
  const auto reported = static_cast<double>(sample.transactions - from_->transactions);
  const double busy = sample.busy_seconds - from_->busy_seconds;
  if (reported > 0) {
    const double mean = busy / reported;
    chunk_ += (chunk_ == 0 ? 1 : kNewestChunk) * (mean - chunk_);
  }
  const double least = std::max(0.0, std::min(before, after) - reported);
  const double likely = (busy + (after - before) * chunk_ / 2) / seconds;
  return std::max(least, std::min(likely, after + reported));
}

void FlowMeter::CountTransactions(const ControlSample& sample, Flow& flow) {
  const auto own = static_cast<double>(sample.transactions - from_->transactions);
  const auto all = static_cast<double>(sample.work.next_xid - from_->work.next_xid);
  if (own > 0) seen_each_ = all / own;
  flow.transactions = flow.throughput = std::max(0.0, all - own * ids_each_) / flow.seconds;
  flow.sessions =
      (std::max(0.0, from_->work.foreground_active - OwnSessions(*from_)) + active_) / 2;
}

void FlowMeter::CountStatements(const ControlSample& sample, Flow& flow) const {
  const WorkCounters::Statements& before = *from_->work.statements;
  const WorkCounters::Statements& after = *sample.work.statements;
  const bool mingled = !sees_batch_ && unseen_ >= kUnseen;
  const auto own = static_cast<double>(sample.transactions - from_->transactions);
  const double own_busy = sample.busy_seconds - from_->busy_seconds;
  const auto rate = [&](double value, double of_batch) {
    return std::max(0.0, value - (mingled ? of_batch : 0)) / flow.seconds;
  };
  flow.source = Flow::Source::kStatements;
  flow.throughput = rate(after.calls - before.calls, own);
  flow.occupancy = rate(after.busy_seconds - before.busy_seconds, own_busy);
}

void FlowMeter::BlameBatch() {
  if (seen_each_ > kMaxIdsEach) return;
  if (std::abs(seen_each_ - blamed_each_) < kAlikeShare * blamed_each_) ids_each_ = seen_each_;
  blamed_each_ = seen_each_;
}

}  // namespace headgate::health
