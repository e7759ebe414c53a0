// Rows that wait for the store: those of one step and key are one, and there are only so many.
//
// Thread-compatible.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

class RowBuffer {
 public:
  explicit RowBuffer(int32_t step_s) : step_s_(step_s) {}

  // False, and nothing is added: it would be another row, and there are `most`.
  bool Add(int64_t now_s, const RowKey& key, const Counts& counts, size_t most);

  // How many Checks there are in rows that the filter takes.
  int64_t ChecksIn(const ScanFilter& filter) const;

  // The first of them in time.
  std::vector<Row> Take(size_t most);

  size_t size() const { return rows_.size(); }

 private:
  const int32_t step_s_;
  std::map<std::pair<int64_t, RowKey>, Counts> rows_;  // by their step
};

}  // namespace headgate::throttle_log
