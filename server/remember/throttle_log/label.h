// What a count is about besides the identity, and a table of them.
//
// Few labels stand for all counts: targets times what the rules and budgets can say. The table is
// bounded; beyond its bound the names are left out, so that only the outcome, the reason and the
// limit are told apart, and beyond that even the target. Labels stay for ever.
//
// One thread adds. Another may read a label whose number it got from the first in a way that
// orders memory (release, acquire): a label that has a number never changes.
//
//   LabelTable labels(1024);
//   const uint32_t number = labels.NumberOf(target, cause, seed);
//   ... labels[number].cause ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/cause.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct Label {
  std::string target;
  Outcome outcome = Outcome::kAllowed;
  Cause cause;
};

class LabelTable {
 public:
  explicit LabelTable(size_t max_labels);

  // Allocates on first sight only.
  uint32_t NumberOf(std::string_view target, const CauseView& cause, uint64_t seed);

  const Label& operator[](uint32_t number) const { return labels_[number]; }
  // How many there will ever be.
  size_t capacity() const { return capacity_; }

 private:
  // Adds it if there is room below `bound`; else kNone.
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t FindOrAdd(std::string_view target, const CauseView& cause, uint64_t seed, size_t bound);

  const size_t max_labels_;
  const size_t capacity_;
  const std::unique_ptr<Label[]> labels_;
  size_t used_ = 0;
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
};

}  // namespace headgate::throttle_log
