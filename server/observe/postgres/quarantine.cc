#include "server/observe/postgres/quarantine.h"

#include "absl/strings/str_cat.h"

namespace headgate::postgres {

absl::Status Quarantine::Check(const std::string& sql, int64_t now_ns) const {
  const auto suspect = suspects_.find(sql);
  if (suspect == suspects_.end() || now_ns >= suspect->second.until_ns) return absl::OkStatus();
  return suspect->second.why;
}

void Quarantine::NoteLost(const std::string& sql, const absl::Status& status, int64_t now_ns) {
  if (suspects_.contains(sql)) return NoteSpoilt(sql, status, now_ns);
  if (suspects_.size() >= kMax) suspects_.clear();
  suspects_[sql] = {};
}

void Quarantine::NoteSpoilt(const std::string& sql, const absl::Status& status, int64_t now_ns) {
  if (suspects_.size() >= kMax) suspects_.clear();
  suspects_[sql] = {
      .why = absl::Status(status.code(), absl::StrCat(status.message(), "; not asked again for ",
                                                      absl::FormatDuration(kPause))),
      .until_ns = now_ns + absl::ToInt64Nanoseconds(kPause)};
}

}  // namespace headgate::postgres
