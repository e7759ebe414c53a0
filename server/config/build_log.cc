// The throttle log: how finely, how long, how much, and where.

#include "absl/strings/str_cat.h"
#include "server/config/builder.h"

namespace headgate::config {
namespace {

using Proto = v1::ThrottleLog;

bool IsMultiple(absl::Duration whole, absl::Duration part) {
  return whole % part == absl::ZeroDuration();
}

}  // namespace

void Builder::BuildLogTimes() {
  const Proto& from = proto.throttle_log();
  ThrottleLogSettings& to = config.throttle_log;
  const auto read = [&](bool has, int field, const auto& value, absl::Duration least,
                        absl::Duration most, absl::Duration& into) {
    if (has) into = findings.InRange(from, field, value, least, most);
  };
  read(from.has_step(), Proto::kStepFieldNumber, from.step(), absl::Seconds(1), absl::Minutes(1),
       to.step);
  read(from.has_coarse_step(), Proto::kCoarseStepFieldNumber, from.coarse_step(), absl::Seconds(1),
       absl::Hours(1), to.coarse_step);
  read(from.has_coarsen_after(), Proto::kCoarsenAfterFieldNumber, from.coarsen_after(),
       absl::Hours(1), absl::Hours(24 * 366), to.coarsen_after);
  read(from.has_retention(), Proto::kRetentionFieldNumber, from.retention(), absl::Hours(1),
       absl::Hours(24 * 3660), to.retention);
  if (!IsMultiple(to.step, absl::Seconds(1))) {
    findings.Say(from, Proto::kStepFieldNumber,
                 absl::StrCat("step must be whole seconds; it is ", absl::FormatDuration(to.step)));
  } else if (to.step > absl::ZeroDuration() && !IsMultiple(to.coarse_step, to.step)) {
    findings.Say(
        from, Proto::kCoarseStepFieldNumber,
        absl::StrCat("coarse_step must be a multiple of the step, ", absl::FormatDuration(to.step),
                     "; it is ", absl::FormatDuration(to.coarse_step)));
  }
  if (to.retention < to.coarsen_after) {
    findings.Say(from, Proto::kRetentionFieldNumber,
                 absl::StrCat("retention must not be shorter than coarsen_after, ",
                              absl::FormatDuration(to.coarsen_after), "; it is ",
                              absl::FormatDuration(to.retention)));
  }
}

void Builder::BuildThrottleLog() {
  const Proto& from = proto.throttle_log();
  ThrottleLogSettings& to = config.throttle_log;
  BuildLogTimes();
  const auto size = [&](bool has, int field, int64_t value, int64_t least, int64_t most,
                        int64_t& into) {
    if (!has) return;
    findings.InRange(from, field, value, least, most);
    into = value;
  };
  size(from.has_max_bytes(), Proto::kMaxBytesFieldNumber, from.max_bytes(), int64_t{1} << 20,
       int64_t{1} << 50, to.max_bytes);
  size(from.has_max_identities(), Proto::kMaxIdentitiesFieldNumber, from.max_identities(), 64,
       int64_t{1} << 20, to.max_identities);
  size(from.has_max_buffered_rows(), Proto::kMaxBufferedRowsFieldNumber, from.max_buffered_rows(),
       1000, 10'000'000, to.max_buffered_rows);
  size(from.has_recent_denials(), Proto::kRecentDenialsFieldNumber, from.recent_denials(), 16,
       int64_t{1} << 20, to.recent_denials);
  if (from.has_postgres()) to.postgres = BuildSource(from.postgres());
}

}  // namespace headgate::config
