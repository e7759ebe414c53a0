#include "server/observe/postgres/log_waits.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace headgate::postgres {
namespace {

constexpr int64_t kNsPerUs = 1000;

template <typename Format>
std::string Join(Format format) {
  return absl::StrJoin(kWaitColumns, ", ", [&](std::string* out, const char* column) {
    absl::StrAppend(out, format(column));
  });
}

bool IsLongest(const char* column) { return std::string_view(column) == "longest_us"; }

}  // namespace

WaitNumbers NumbersOf(const throttle_log::Waits& waits) {
  const auto& within = waits.ended_within;
  return {waits.began,
          waits.admitted,
          waits.denied,
          waits.left,
          waits.waited_ns / kNsPerUs,
          waits.held_ns / kNsPerUs,
          waits.longest_ns / kNsPerUs,
          within[0],
          within[1],
          within[2],
          within[3],
          within[4],
          within[5]};
}

throttle_log::Waits WaitsOf(const WaitNumbers& numbers) {
  return {
      .began = numbers[0],
      .admitted = numbers[1],
      .denied = numbers[2],
      .left = numbers[3],
      .waited_ns = numbers[4] * kNsPerUs,
      .held_ns = numbers[5] * kNsPerUs,
      .longest_ns = numbers[6] * kNsPerUs,
      .ended_within = {numbers[7], numbers[8], numbers[9], numbers[10], numbers[11], numbers[12]}};
}

std::string WaitColumns() {
  return Join([](const char* column) { return column; });
}

std::string WaitColumnsAdded() {
  return Join([](const char* column) { return absl::StrCat("ADD COLUMN ", column, " bigint"); });
}

std::string WaitColumnTypes() {
  return Join([](const char* column) { return absl::StrCat(column, " bigint"); });
}

std::string WaitSums() {
  return Join([](const char* column) {
    return absl::StrCat(IsLongest(column) ? "max(" : "sum(", column, ")::bigint AS ", column);
  });
}

std::string WaitsAddedUp() {
  return Join([](const char* column) {
    const char* const both =
        IsLongest(column) ? "$0 = greatest(f.$0, excluded.$0)" : "$0 = f.$0 + excluded.$0";
    return absl::Substitute(both, column);
  });
}

}  // namespace headgate::postgres
