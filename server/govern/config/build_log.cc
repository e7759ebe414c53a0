// The throttle log: how finely, how long, how much, and where.

#include "absl/strings/str_cat.h"
#include "server/govern/config/builder.h"

namespace headgate::config {
namespace {

using LogProto = v1::ThrottleLog;

bool IsMultiple(absl::Duration whole, absl::Duration part) {
  return whole % part == absl::ZeroDuration();
}

}  // namespace

void Builder::BuildLogTimes() {
  const LogProto& from = proto.throttle_log();
  ThrottleLogSettings& to = config.throttle_log;
  const auto read = [&](bool has, int field, const auto& value, absl::Duration least,
                        absl::Duration most, absl::Duration& into) {
    if (has) into = findings.InRange(from, field, value, least, most);
  };
  read(from.has_step(), LogProto::kStepFieldNumber, from.step(), absl::Seconds(1), absl::Minutes(1),
       to.step);
  read(from.has_coarse_step(), LogProto::kCoarseStepFieldNumber, from.coarse_step(),
       absl::Seconds(1), absl::Hours(1), to.coarse_step);
  read(from.has_coarsen_after(), LogProto::kCoarsenAfterFieldNumber, from.coarsen_after(),
       absl::Hours(1), absl::Hours(24 * 366), to.coarsen_after);
  read(from.has_retention(), LogProto::kRetentionFieldNumber, from.retention(), absl::Hours(1),
       absl::Hours(24 * 3660), to.retention);
  if (!IsMultiple(to.step, absl::Seconds(1))) {
    findings.Say(from, LogProto::kStepFieldNumber,
                 absl::StrCat("step must be whole seconds; it is ", absl::FormatDuration(to.step)));
  } else if (to.step > absl::ZeroDuration() && !IsMultiple(to.coarse_step, to.step)) {
    findings.Say(
        from, LogProto::kCoarseStepFieldNumber,
        absl::StrCat("coarse_step must be a multiple of the step, ", absl::FormatDuration(to.step),
                     "; it is ", absl::FormatDuration(to.coarse_step)));
  }
  if (to.retention < to.coarsen_after) {
    findings.Say(from, LogProto::kRetentionFieldNumber,
                 absl::StrCat("retention must not be shorter than coarsen_after, ",
                              absl::FormatDuration(to.coarsen_after), "; it is ",
                              absl::FormatDuration(to.retention)));
  }
}

void Builder::BuildThrottleLog() {
  const LogProto& from = proto.throttle_log();
  ThrottleLogSettings& to = config.throttle_log;
  BuildLogTimes();
  const auto size = [&](bool has, int field, int64_t value, int64_t least, int64_t most,
                        int64_t& into) {
    if (!has) return;
    findings.InRange(from, field, value, least, most);
    into = value;
  };
  size(from.has_max_bytes(), LogProto::kMaxBytesFieldNumber, from.max_bytes(), int64_t{1} << 20,
       int64_t{1} << 50, to.max_bytes);
  size(from.has_max_identities(), LogProto::kMaxIdentitiesFieldNumber, from.max_identities(), 64,
       int64_t{1} << 20, to.max_identities);
  size(from.has_max_buffered_rows(), LogProto::kMaxBufferedRowsFieldNumber,
       from.max_buffered_rows(), 1000, 10'000'000, to.max_buffered_rows);
  size(from.has_recent_denials(), LogProto::kRecentDenialsFieldNumber, from.recent_denials(), 16,
       int64_t{1} << 20, to.recent_denials);
  if (from.has_postgres()) to.postgres = BuildSource(from.postgres());
}

}  // namespace headgate::config
