#include "server/observe/control/flow_meter.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headgate::control {
namespace {

// Where statistics are reset or evicted again and again they are of no use.
constexpr int64_t kDistrustNs = 10'000'000'000;
// How long to wait for statements, which are not in every sample.
constexpr int64_t kPatienceNs = 90'000'000'000;
// After a longer gap between samples the counters say nothing about now.
constexpr int64_t kLongestNs = 3'000'000'000;
// Fewer statements have no mean worth knowing.
constexpr double kLeastTimed = 5;
// A chunk that commits row by row. What is blamed wrongly makes the foreground look hurt.
constexpr double kMaxIdsEach = 1000;
constexpr double kAlikeShare = 0.3;
// Reports are not believed where sessions were at work for so many times as long, and for so many
// session-seconds more than by chance, over so long; and then for so long.
constexpr double kUnderstated = 4, kByChance = 2, kComparedFor = 20;  // times; s; s
constexpr int64_t kDisbeliefNs = 60'000'000'000;
constexpr double kNewestChunk = 0.3;  // its weight in the average
// What is compared stands for all that ran down to this share of it, and again from that one.
constexpr double kStandsForAll = 0.7, kStandsAgain = 0.9;
constexpr double kLeastRan = 20;  // statements of which a share is known

// Statements that ran between two readings; empty: it is not known.
std::optional<double> RanBetween(const std::optional<health::WorkCounters::Statements>& before,
                                 const std::optional<health::WorkCounters::Statements>& after) {
  if (!before.has_value() || !after.has_value()) return std::nullopt;
  if (before->ran_generation != after->ran_generation || after->ran < before->ran) {
    return std::nullopt;
  }
  return after->ran - before->ran;
}

}  // namespace

bool FlowMeter::Continues(const ControlSample& sample) const {
  if (!from_.has_value()) return false;
  const int64_t elapsed_ns = sample.work.sampled_at_ns - last_.work.sampled_at_ns;
  return elapsed_ns > 0 && elapsed_ns <= kLongestNs &&
         sample.work.next_xid >= last_.work.next_xid && sample.checks >= last_.checks &&
         sample.transactions >= last_.transactions && sample.busy_seconds >= last_.busy_seconds;
}

void FlowMeter::Distrust(const ControlSample& sample) {
  const auto& before = from_->work.statements;
  const auto& after = sample.work.statements;
  if (!before.has_value() || !after.has_value()) return;
  if (before->generation == after->generation && after->calls >= before->calls &&
      after->busy_seconds >= before->busy_seconds) {
    return;
  }
  // What was evicted has run all the same; after a reset nobody knows.
  const bool knows_ran = RanBetween(before, after).value_or(0) > 0;
  (knows_ran ? not_compared_until_ns_ : distrusted_until_ns_) =
      sample.work.sampled_at_ns + kDistrustNs;
}

bool FlowMeter::ExpectsStatements(const ControlSample& sample) const {
  return from_->work.statements.has_value() && sample.work.statements_missing.empty() &&
         sample.work.sampled_at_ns >= distrusted_until_ns_;
}

FlowMeter::Outcome FlowMeter::Take(const ControlSample& sample, Flow& flow, Flow& glance) {
  TellApart(sample);
  active_ = std::max(0.0, sample.work.foreground_active - OwnSessions(sample));
  if (!Continues(sample)) {
    from_ = last_ = sample;
    session_seconds_ = 0;
    return Outcome::kBroken;
  }
  Glance(sample, glance);
  CompareReports(sample, glance);
  last_ = sample;
  const int64_t elapsed_ns = sample.work.sampled_at_ns - from_->work.sampled_at_ns;
  Distrust(sample);
  const bool trusted = ExpectsStatements(sample);
  const bool has_statements = sample.work.statements.has_value();
  if (trusted && !has_statements && elapsed_ns < kPatienceNs) return Outcome::kMore;

  flow = {};
  flow.seconds = static_cast<double>(elapsed_ns) / 1e9;
  flow.at = static_cast<double>(sample.work.sampled_at_ns) / 1e9 - flow.seconds / 2;
  flow.asked = sample.checks > from_->checks;
  flow.in_flight = InFlight(*from_, sample, flow.seconds);
  CountTransactions(*from_, sample, flow);
  flow.sessions = session_seconds_ / flow.seconds;
  if (trusted && has_statements) CountStatements(sample, flow);
  if (flow.throughput > 0) flow.residence = flow.sessions / flow.throughput;
  from_ = sample;
  session_seconds_ = 0;
  return Outcome::kFlow;
}

// The chunks that were reported are counted here, once each.
void FlowMeter::Glance(const ControlSample& sample, Flow& glance) {
  const auto reported = static_cast<double>(sample.transactions - last_.transactions);
  if (reported > 0) {
    const double mean = (sample.busy_seconds - last_.busy_seconds) / reported;
    chunk_ += (chunk_ == 0 ? 1 : kNewestChunk) * (mean - chunk_);
  }
  glance = {};
  glance.seconds = static_cast<double>(sample.work.sampled_at_ns - last_.work.sampled_at_ns) / 1e9;
  glance.asked = sample.checks > last_.checks;
  glance.in_flight = InFlight(last_, sample, glance.seconds);
  CountTransactions(last_, sample, glance);
  session_seconds_ += glance.sessions * glance.seconds;
}

void FlowMeter::TellApart(const ControlSample& sample) {
  const bool at_work = sample.outstanding > 0;
  counts_permits_ |= at_work;
  sees_batch_ |= sample.work.batch_active > 0;
  if (at_work && !sees_batch_) ++unseen_;
}

// Only sessions that permits stand for, since others may log in with the role of batch work.
void FlowMeter::CompareReports(const ControlSample& sample, const Flow& glance) {
  if (!sees_batch_) return;
  const double keep = std::exp(-glance.seconds / kComparedFor);
  seen_seconds_ = keep * seen_seconds_ + glance.seconds * Permits(sample);
  told_seconds_ = keep * told_seconds_ + glance.seconds * glance.in_flight;
  if (seen_seconds_ < kUnderstated * told_seconds_ + kByChance) return;
  understated_until_ns_ = sample.work.sampled_at_ns + kDisbeliefNs;
  seen_seconds_ = told_seconds_ = 0;
}

// A permit that nobody will report counts for nothing where its session is not seen either.
double FlowMeter::Permits(const ControlSample& sample) const {
  const auto outstanding = static_cast<double>(sample.outstanding);
  if (!counts_permits_) return sample.work.batch_active;
  return sees_batch_ ? std::min(outstanding, sample.work.batch_active) : outstanding;
}

double FlowMeter::OwnSessions(const ControlSample& sample) const {
  return is_mingled() ? static_cast<double>(sample.outstanding) : 0;
}

// A permit that is there at both ends was there all the time, and one that was given out or
// reported in between cannot have worked for longer than that. Of what is outstanding at an end,
// half lies on the other side on average.
double FlowMeter::InFlight(const ControlSample& from, const ControlSample& sample, double seconds) {
  const double before = Permits(from), after = Permits(sample);
  const auto reported = static_cast<double>(sample.transactions - from.transactions);
  const double busy = sample.busy_seconds - from.busy_seconds;
  const double least = std::max(0.0, std::min(before, after) - reported);
  const double likely = (busy + (after - before) * chunk_ / 2) / seconds;
  return std::max(least, std::min(likely, after + reported));
}

void FlowMeter::CountTransactions(const ControlSample& from, const ControlSample& sample,
                                  Flow& flow) {
  const auto own = static_cast<double>(sample.transactions - from.transactions);
  const auto all = static_cast<double>(sample.work.next_xid - from.work.next_xid);
  if (own > 0) seen_each_ = all / own;
  flow.transactions = flow.throughput = std::max(0.0, all - own * ids_each_) / flow.seconds;
  flow.sessions = active_;
}

void FlowMeter::CountStatements(const ControlSample& sample, Flow& flow) {
  const health::WorkCounters::Statements& before = *from_->work.statements;
  const health::WorkCounters::Statements& after = *sample.work.statements;
  const auto own = static_cast<double>(sample.transactions - from_->transactions);
  const double own_busy = sample.busy_seconds - from_->busy_seconds;
  const auto rate = [&](double value, double of_batch) {
    return std::max(0.0, value - (is_mingled() ? of_batch : 0)) / flow.seconds;
  };
  const bool compares = sample.work.sampled_at_ns >= not_compared_until_ns_;
  const std::optional<double> ran = RanBetween(from_->work.statements, sample.work.statements);
  const double compared = compares ? after.calls - before.calls : 0;
  if (ran.value_or(0) >= kLeastRan) {
    counts_all_ = compared < (counts_all_ ? kStandsAgain : kStandsForAll) * *ran;
  }
  if (counts_all_ || !compares) {
    if (!ran.has_value()) return;  // transaction ids have been counted
    flow.source = Flow::Source::kAllStatements;
    flow.throughput = rate(*ran, own);
  } else {
    flow.source = Flow::Source::kStatements;
    flow.throughput = rate(compared, own);
  }
  if (!compares) return;
  flow.occupancy = rate(after.busy_seconds - before.busy_seconds, own_busy);
  const double calls = after.timed_calls - before.timed_calls;
  // Long chunks among short statements would look like harm: first it must be seen that they are
  // not.
  if (!sees_batch_ || calls < kLeastTimed) return;
  flow.mean = (after.timed_seconds - before.timed_seconds) / calls;
  flow.deviation = std::sqrt((after.timed_deviations - before.timed_deviations) / calls);
}

void FlowMeter::BlameBatch() {
  if (seen_each_ > kMaxIdsEach) return;
  if (std::abs(seen_each_ - blamed_each_) < kAlikeShare * blamed_each_) ids_each_ = seen_each_;
  blamed_each_ = seen_each_;
}

}  // namespace headgate::control
