#include "server/postgres/statement_totals.h"

#include <algorithm>
#include <utility>

namespace headgate::postgres {

void StatementTotals::Grow(Entry& entry, const Row& row, double seconds) {
  const double calls = row.calls - entry.row.calls;
  entry.rate = (entry.rate + calls / seconds) / 2;
  entry.is_timed = entry.rate >= (entry.is_timed ? kSeldom : kOften);
  const double busy = row.seconds - entry.row.seconds;
  counted_.calls += calls;
  counted_.busy_seconds += busy;
  if (!entry.is_timed || calls <= 0) return;
  counted_.timed_calls += calls;
  counted_.timed_seconds += busy;
  counted_.timed_deviations += std::max(0.0, row.squares - entry.row.squares - busy * busy / calls);
}

void StatementTotals::Add(std::vector<Row> rows, const std::string& source, double seconds) {
  if (source != source_ || seconds <= 0) {
    source_ = source;
    entries_.clear();
    ++counted_.generation;
  }
  double kept = 0, lost = 0;  // calls a second, as they ran before
  for (Row& row : rows) {
    Entry& entry = entries_[row.key];
    const bool grew = !entry.row.key.empty() && row.calls >= entry.row.calls;
    (grew ? kept : lost) += entry.rate;
    if (grew) Grow(entry, row, seconds);
    entry.row = std::move(row);
    entry.seen = true;
  }
  absl::erase_if(entries_, [&lost](auto& named) {
    Entry& entry = named.second;
    if (!entry.seen) lost += entry.rate;
    return !std::exchange(entry.seen, false);
  });
  if (lost > kMostLost * (kept + lost)) ++counted_.generation;
}

}  // namespace headgate::postgres
