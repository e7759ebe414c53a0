#include "server/observe/postgres/log_waits.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace headgate::postgres {
namespace {

template <typename Format>
std::string Join(Format format) {
  return absl::StrJoin(kWaitColumns, ", ", [&](std::string* out, const char* column) {
    absl::StrAppend(out, format(column));
  });
}

bool IsLongest(const char* column) { return std::string_view(column) == "longest_us"; }

}  // namespace

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
