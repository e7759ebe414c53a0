#include "server/observe/postgres/statement_totals.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace headgate::postgres {

void StatementTotals::Grow(Entry& entry, const Row& row, double seconds) {
  entry.has_grown = true;
  const double calls = row.calls - entry.row.calls;
  counted_.ran += calls;
  entry.rate = (entry.rate + calls / seconds) / 2;
  entry.is_timed = entry.rate >= (entry.is_timed ? kSeldom : kOften);
  const double busy = row.seconds - entry.row.seconds;
  counted_.calls += calls;
  counted_.busy_seconds += busy;
  if (calls <= 0) return;
  ++ran_;
  if (!entry.is_timed) return;
  counted_.timed_calls += calls;
  counted_.timed_seconds += busy;
  counted_.timed_deviations += std::max(0.0, row.squares - entry.row.squares - busy * busy / calls);
}

void StatementTotals::Meet(Entry& entry, const Row& row, double seconds) {
  if (row.ran <= 0) return;
  ++ran_;
  entry.rate = row.ran / std::max(seconds, kLeastSeconds) / 2;
  if (row.ran >= kRepeated) entry.missed = row.ran / seconds;
}

// Of what ran as often as another, or is not known to have, the one with more calls ever.
void StatementTotals::Choose() {
  if (entries_.size() <= kMost) return;
  std::vector<std::tuple<double, double, std::string>> order;
  order.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) order.emplace_back(entry.rate, entry.row.calls, key);
  const auto left_out = order.begin() + kMost;
  std::nth_element(order.begin(), left_out, order.end(), std::greater<>());
  for (auto it = left_out; it != order.end(); ++it) entries_.erase(std::get<std::string>(*it));
}

std::vector<std::string> StatementTotals::Compared() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const auto& named : entries_) keys.push_back(named.first);
  return keys;
}

void StatementTotals::Add(std::vector<Row> rows, const std::string& source, double seconds) {
  begins_ = source != source_ || seconds <= 0;
  if (begins_) {
    source_ = source;
    entries_.clear();
    ++counted_.generation;
    ++counted_.ran_generation;
  }
  ran_ = 0;
  double kept = 0, lost = 0;  // calls a second, as they ran before
  for (Row& row : rows) {
    Entry& entry = entries_[row.key];
    const bool is_new = entry.row.key.empty();
    const bool grew = !is_new && row.calls >= entry.row.calls;
    (grew ? kept : lost) += entry.rate;
    if (grew) Grow(entry, row, seconds);
    if (is_new && !begins_) Meet(entry, row, seconds);
    if (!is_new && !grew) counted_.ran += row.calls;  // it was evicted, or reset, and came back
    entry.row = std::move(row);
    entry.seen = true;
  }
  absl::erase_if(entries_, [&lost](auto& named) {
    Entry& entry = named.second;
    if (!entry.seen && entry.has_grown) lost += entry.rate;
    return !std::exchange(entry.seen, false);
  });
  Choose();
  for (auto& named : entries_) lost += std::exchange(named.second.missed, 0);
  if (lost > kMostLost * (kept + lost)) ++counted_.generation;
}

void StatementTotals::AddOthers(std::optional<double> calls) {
  if (!calls.has_value()) {
    ++counted_.ran_generation;
  } else if (!begins_) {
    counted_.ran += *calls;
  }
}

}  // namespace headgate::postgres
