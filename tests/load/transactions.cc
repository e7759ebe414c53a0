#include "tests/load/transactions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace headgate::load {
namespace {

// The smallest value that at least `share` of all are not above. Reorders the values.
absl::Duration Quantile(std::vector<int64_t>& values_us, double share) {
  if (values_us.empty()) return absl::ZeroDuration();
  const double rank = share * static_cast<double>(values_us.size());
  const auto place = std::min(static_cast<size_t>(rank), values_us.size() - 1);
  const auto nth = values_us.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values_us.begin(), nth, values_us.end());
  return absl::Microseconds(*nth);
}

}  // namespace

// client_id transaction_no time script_no time_epoch time_us [schedule_lag]. The time is "skipped"
// or "failed" for transactions that did not happen.
bool Transactions::AddLine(std::string_view line) {
  std::array<int64_t, 6> fields;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (int64_t& field : fields) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, field);
    if (error != std::errc()) return false;
    at = next;
  }
  Add({.ended_us = fields[4] * 1'000'000 + fields[5], .latency_us = fields[2]});
  return true;
}

// Nearly in order: threads of pgbench write logs of their own.
void Transactions::Add(const Transaction& transaction) {
  const auto later = [](int64_t at_us, const Transaction& other) { return at_us < other.ended_us; };
  auto place = all_.end();
  if (!all_.empty() && all_.back().ended_us > transaction.ended_us) {
    place = std::upper_bound(all_.begin(), all_.end(), transaction.ended_us, later);
  }
  all_.insert(place, transaction);
}

ForegroundStats Transactions::Over(absl::Span<const Window> windows) const {
  const auto earlier = [](const Transaction& other, int64_t at_us) {
    return other.ended_us < at_us;
  };
  absl::Duration length;
  int64_t sum_us = 0;
  std::vector<int64_t> latencies_us;
  for (const Window& window : windows) {
    length += window.to - window.from;
    auto at = std::lower_bound(all_.begin(), all_.end(), absl::ToUnixMicros(window.from), earlier);
    for (const int64_t to_us = absl::ToUnixMicros(window.to);
         at != all_.end() && at->ended_us < to_us; ++at) {
      latencies_us.push_back(at->latency_us);
      sum_us += at->latency_us;
    }
  }
  ForegroundStats stats{.count = static_cast<int64_t>(latencies_us.size())};
  if (stats.count == 0 || length <= absl::ZeroDuration()) return stats;
  stats.per_second = static_cast<double>(stats.count) / absl::ToDoubleSeconds(length);
  stats.mean = absl::Microseconds(sum_us) / stats.count;
  double squares = 0;
  for (const int64_t latency_us : latencies_us) {
    const double off = static_cast<double>(latency_us) - absl::ToDoubleMicroseconds(stats.mean);
    squares += off * off;
  }
  stats.deviation = absl::Microseconds(std::sqrt(squares / static_cast<double>(stats.count)));
  stats.p99 = Quantile(latencies_us, .99);
  stats.p50 = Quantile(latencies_us, .5);
  return stats;
}

}  // namespace headgate::load
