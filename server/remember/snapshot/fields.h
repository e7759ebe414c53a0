// The fields of what is saved, in the order of the file: one list for writing and for reading.
//
// `Pass` is a Writer or a Reader; a Writer is given const structs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/saved_state.h"
#include "server/remember/snapshot/binary_io.h"

namespace headgate::snapshot {

// Infinite ones included.
inline void Span(Writer& to, absl::Duration span) { to.Number(absl::ToInt64Nanoseconds(span)); }
inline void Span(Reader& from, absl::Duration& span) {
  int64_t ns = 0;
  from.Number(ns);
  constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();
  span = ns == kInfinite ? absl::InfiniteDuration() : absl::Nanoseconds(ns);
}

template <typename Pass, typename Health>
void HealthFields(Pass& pass, Health& health) {
  pass.Numbers(health.status, health.gate_shut, health.unread, health.pressure, health.signal,
               health.sampled_at_ns, health.next_sample_at_ns);
}

template <typename Pass, typename Clock>
void ClockFields(Pass& pass, Clock& clock) {
  pass.Text(clock.name);
  pass.Numbers(clock.real_base_ns, clock.virtual_base_ns, clock.speed_fixed);
  HealthFields(pass, clock.health);
}

template <typename Pass, typename Origin>
void OriginFields(Pass& pass, Origin& origin) {
  pass.Numbers(origin.version, origin.then_ns, origin.now_ns, origin.scale, origin.drained_at_ns);
}
inline void Origins(Writer& to, const std::vector<engine::SavedOrigin>& origins) {
  to.Count(origins.size());
  for (const engine::SavedOrigin& origin : origins) OriginFields(to, origin);
}
inline void Origins(Reader& from, std::vector<engine::SavedOrigin>& origins) {
  constexpr size_t kOriginBytes = 40;
  origins.resize(from.Count(kOriginBytes));
  for (engine::SavedOrigin& origin : origins) OriginFields(from, origin);
}

template <typename Pass, typename Ledger>
void LedgerFields(Pass& pass, Ledger& ledger) {
  pass.Text(ledger.name);
  pass.Numbers(ledger.slot, ledger.idle, ledger.clock, ledger.ns_per_unit, ledger.is_auto,
               ledger.unit, ledger.overruns, ledger.overrun_sum);
  pass.Text(ledger.split);
  pass.Numbers(ledger.version, ledger.lineage, ledger.opened_at_ns, ledger.unknown_before,
               ledger.empties_at_ns, ledger.table.filled_until_ns, ledger.table.live_evictions);
  Origins(pass, ledger.origins);
  pass.Array(ledger.table.lines);
  pass.Array(ledger.table.buckets);
}

template <typename Pass, typename Subject>
void SubjectFields(Pass& pass, Subject& subject) {
  pass.Numbers(subject.target, subject.root, subject.caller, subject.pattern);
}

template <typename Pass, typename Permit>
void PermitFields(Pass& pass, Permit& permit) {
  pass.Numbers(permit.slot, permit.charges, permit.expired, permit.expires_at_ns,
               permit.policy_version, permit.estimate, permit.issued_at_ns, permit.teaches,
               permit.busy_charges, permit.holder);
  SubjectFields(pass, permit.subject);
}

template <typename Pass, typename Holder>
void HolderFields(Pass& pass, Holder& holder) {
  pass.Number(holder.key);
  pass.Text(holder.name);
}

template <typename Pass, typename Charge>
void ChargeFields(Pass& pass, Charge& charge) {
  pass.Numbers(charge.tag, charge.ended_at_ns, charge.refunded_since_ns, charge.cost, charge.ledger,
               charge.concurrency_key);
}

template <typename Pass, typename Warning>
void WarningFields(Pass& pass, Warning& warning) {
  pass.Numbers(warning.budget, warning.rule, warning.profile, warning.limit, warning.warn,
               warning.level, warning.signal, warning.observed, warning.limit_value,
               warning.health_status, warning.unread, warning.unit, warning.predicted,
               warning.learnt_from);
  Span(pass, warning.sample_age);
  Span(pass, warning.retry_after);
}

template <typename Pass, typename Request>
void RequestFields(Pass& pass, Request& request) {
  pass.Numbers(request.key, request.permit, request.predicted_cost, request.chunk_scale,
               request.reason, request.priority, request.probe.budget, request.probe.predicted,
               request.probe.most, request.probe.learnt_from);
  Span(pass, request.predicted_busy_time);
  pass.Numbers(request.health.profile, request.health.now_ns, request.health.virtual_ns,
               request.health.real_base_ns, request.health.virtual_base_ns,
               request.health.speed_fixed, request.health.health.speed);
  HealthFields(pass, request.health.health);
}

template <typename Pass, typename Average>
void AverageFields(Pass& pass, Average& average) {
  pass.Numbers(average.value, average.count);
}

template <typename Pass, typename Surge>
void SurgeFields(Pass& pass, Surge& surge) {
  pass.Numbers(surge.before, surge.run, surge.taught, surge.spread);
}

template <typename Pass, typename Measure>
void MeasureFields(Pass& pass, Measure& measure) {
  AverageFields(pass, measure.estimate);
  AverageFields(pass, measure.actual);
  AverageFields(pass, measure.mean);
  SurgeFields(pass, measure.ratio_surge);
  SurgeFields(pass, measure.mean_surge);
}

template <typename Pass, typename Pattern>
void PatternFields(Pass& pass, Pattern& pattern) {
  SubjectFields(pass, pattern.subject);
  pass.Numbers(pattern.learnt_at, pattern.reported_at_ns, pattern.reports, pattern.named);
  MeasureFields(pass, pattern.cost);
  MeasureFields(pass, pattern.busy);
  pass.Text(pattern.names.root);
  pass.Text(pattern.names.caller);
  pass.Text(pattern.names.pattern);
}

template <typename Pass, typename Debt>
void ReportedDebtFields(Pass& pass, Debt& debt) {
  pass.Numbers(debt.key, debt.reported_at_ns, debt.reported);
}

template <typename Pass, typename Saved>
void SafeRateFields(Pass& pass, Saved& saved) {
  auto& of = saved.reservation;
  pass.Numbers(saved.permit, of.target_key, of.subject_key, of.policy_version, of.rate, of.charged,
               of.charged_until_ns, of.until_ns);
}
template <typename Pass, typename Charge>
void SafeChargeFields(Pass& pass, Charge& charge) {
  pass.Numbers(charge.bucket, charge.tag, charge.ledger, charge.per_unit, charge.unit);
}
inline void SafeRateList(Writer& to, const std::vector<engine::SavedSafeRate>& rates) {
  to.Count(rates.size());
  for (const engine::SavedSafeRate& rate : rates) {
    SafeRateFields(to, rate);
    to.Count(rate.reservation.charges.size());
    for (const engine::SafeCharge& charge : rate.reservation.charges) SafeChargeFields(to, charge);
  }
}
inline void SafeRateList(Reader& from, std::vector<engine::SavedSafeRate>& rates) {
  constexpr size_t kLeastRate = 72, kChargeBytes = 29;
  rates.resize(from.Count(kLeastRate));
  for (engine::SavedSafeRate& rate : rates) {
    SafeRateFields(from, rate);
    rate.reservation.charges.resize(from.Count(kChargeBytes));
    for (engine::SafeCharge& charge : rate.reservation.charges) SafeChargeFields(from, charge);
  }
}

template <typename Pass, typename Control>
void ControlFields(Pass& pass, Control& control) {
  pass.Text(control.target);
  pass.Text(control.bytes);
}

}  // namespace headgate::snapshot
