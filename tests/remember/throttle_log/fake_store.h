// FakeStore: the throttle log in a map, with all that store.h promises of a store.
//
// Steps stay as they are appended, unless a test makes them coarse itself.
//
//   FakeStore store;
//   store.Add(At("07:00"), Denied("etl", 94, HealthCause()));
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "server/remember/throttle_log/row_filter.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

class FakeStore final : public Store {
 public:
  absl::Status Append(absl::Span<const Row> rows, int64_t batch) override {
    MutexLock lock(&mutex_);
    if (!down_.ok()) return down_;
    if (batch == newest_batch_) return absl::OkStatus();
    newest_batch_ = batch;
    for (const Row& row : rows) Put(row, rows_);
    return absl::OkStatus();
  }

  absl::Status Scan(const ScanFilter& filter,
                    absl::FunctionRef<bool(const Row&)> visit) const override {
    Rows taken;
    {
      MutexLock lock(&mutex_);
      if (!down_.ok()) return down_;
      for (const auto& [place, row] : rows_) {
        if (Takes(filter, row)) Put(Summed(filter, row), taken);
      }
    }
    for (const auto& [place, row] : taken) {
      if (!visit(row)) break;
    }
    return absl::OkStatus();
  }

  absl::Status Maintain(absl::Time) override { return absl::OkStatus(); }
  StoreState State() const override {
    MutexLock lock(&mutex_);
    return {.status = down_, .rows = static_cast<int64_t>(rows_.size())};
  }

  // One more row in a batch of its own.
  void Add(Row row) {
    const int64_t batch = [this] {
      MutexLock lock(&mutex_);
      return newest_batch_ + 1;
    }();
    Append({&row, 1}, batch).IgnoreError();
  }
  // Fails from now on; Ok: no more.
  void Fail(absl::Status status) {
    MutexLock lock(&mutex_);
    down_ = std::move(status);
  }

 private:
  using Place = std::tuple<int64_t, std::string, RowKey, int32_t>;  // time, then identity
  using Rows = std::map<Place, Row>;

  static void Put(const Row& row, Rows& rows) {
    const Place place{row.step_s, row.key.identity, row.key, row.length_s};
    const auto [found, made] = rows.try_emplace(place, row);
    if (!made) found->second.counts.Add(row.counts);
  }

  static bool IsBelow(std::string_view identity, std::string_view selector) {
    return selector.empty() || identity == selector ||
           (identity.ends_with(selector) && identity[identity.size() - selector.size() - 1] == ':');
  }
  static bool Takes(const ScanFilter& filter, const Row& row) {
    return row.step_s >= filter.from_s && row.step_s < filter.to_s &&
           IsBelow(row.key.identity, filter.identity) &&
           TakesWho(filter, row.key.identity, row.key.target, row.key.server) &&
           TakesWhat(filter, row.key.outcome, row.key.cause);
  }
  static Row Summed(const ScanFilter& filter, Row row) {
    if (filter.sum_over_s == 0) return row;
    const bool one_sum = filter.sum_over_s > filter.to_s - filter.from_s;
    row.step_s = one_sum ? filter.from_s : row.step_s - row.step_s % filter.sum_over_s;
    row.length_s = static_cast<int32_t>(filter.sum_over_s);
    return row;
  }

  mutable Mutex mutex_;
  Rows rows_ ABSL_GUARDED_BY(mutex_);
  int64_t newest_batch_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status down_ ABSL_GUARDED_BY(mutex_);
};

// The first day of 2026, a Thursday, in UTC.
inline constexpr int64_t kDay = 1'767'225'600;
inline constexpr int64_t TimeOfDay(int hours, int minutes, int seconds = 0) {
  return kDay + int64_t{3600} * hours + 60 * minutes + seconds;
}

// Rows of one 10 s step.
inline Row Allowed(int64_t step_s, std::string identity, int64_t checks, double cost = 0) {
  return {.step_s = step_s,
          .length_s = 10,
          .key = {.target = "main", .identity = std::move(identity), .cause = {}},
          .counts = {.checks = checks, .cost = cost}};
}
inline Row Denied(int64_t step_s, std::string identity, int64_t checks, Cause cause,
                  double cost = 0) {
  Row row = Allowed(step_s, std::move(identity), checks, cost);
  row.key.outcome = Outcome::kDenied;
  row.key.cause = std::move(cause);
  return row;
}
inline Row Measured(Row row, double peak, double limit) {
  row.counts.peak = peak;
  row.counts.limit = limit;
  return row;
}

inline Cause ByHealth(std::string signal) {
  return {.reason = engine::Reason::kHealth,
          .limit = engine::Limit::kHealth,
          .budget = "",
          .rule = "",
          .signal = std::move(signal)};
}
inline Cause ByBurst(std::string budget, std::string signal = "") {
  return {.reason = engine::Reason::kCapacity,
          .limit = engine::Limit::kBurst,
          .budget = std::move(budget),
          .rule = "charge",
          .signal = std::move(signal)};
}

}  // namespace headgate::throttle_log
