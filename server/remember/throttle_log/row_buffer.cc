#include "server/remember/throttle_log/row_buffer.h"

#include "server/remember/throttle_log/row_filter.h"

namespace headgate::throttle_log {

bool RowBuffer::Add(int64_t now_s, const RowKey& key, const Counts& counts, size_t most) {
  const int64_t into_step = (now_s % step_s_ + step_s_) % step_s_;
  const auto place = std::pair(now_s - into_step, key);
  const auto known = rows_.find(place);
  if (known != rows_.end()) {
    known->second.Add(counts);
    return true;
  }
  if (rows_.size() >= most) return false;
  rows_.emplace(place, counts);
  return true;
}

int64_t RowBuffer::ChecksIn(const ScanFilter& filter) const {
  int64_t checks = 0;
  for (const auto& [place, counts] : rows_) {
    if (Takes(filter, place.first, place.second)) checks += counts.checks;
  }
  return checks;
}

std::vector<Row> RowBuffer::Take(size_t most) {
  std::vector<Row> taken;
  while (!rows_.empty() && taken.size() < most) {
    auto row = rows_.extract(rows_.begin());
    taken.push_back({.step_s = row.key().first,
                     .length_s = step_s_,
                     .key = std::move(row.key().second),
                     .counts = row.mapped()});
  }
  return taken;
}

}  // namespace headgate::throttle_log
