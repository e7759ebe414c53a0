#include "server/remember/overrides/request.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "common/strings.h"

namespace headgate::overrides {
namespace {

constexpr size_t kMaxActorBytes = 256;
constexpr absl::Duration kShortest = absl::Seconds(1);
constexpr absl::Duration kLongest = absl::Hours(24 * 366);

template <typename... Parts>
absl::Status Wrong(std::string_view field, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(Sv(field), ": ", parts...));
}

// They stand in rules' names, so they must not break a line.
absl::Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.find_first_not_of(' ') == std::string_view::npos) return Wrong(field, "is required");
  if (text.size() > max_bytes) {
    return Wrong(field, "has ", text.size(), " bytes; at most ", max_bytes);
  }
  if (std::any_of(text.begin(), text.end(), is_control)) {
    return Wrong(field, "must be one line, without control characters");
  }
  return absl::OkStatus();
}

absl::Status SetRatio(const CreateRequest& request, Override& draft) {
  if (request.kind != Kind::kThrottle) {
    if (!request.ratio.has_value()) return absl::OkStatus();
    return Wrong("ratio", "only throttling takes one");
  }
  if (!request.ratio.has_value()) return Wrong("ratio", "is required to throttle");
  if (!(*request.ratio > 0 && *request.ratio <= 1)) {
    return Wrong("ratio", "must be above 0 and at most 1; it is ", *request.ratio);
  }
  draft.ratio = *request.ratio;
  return absl::OkStatus();
}

// In whole days where it has any: 8784h0.000000001s is nothing to read.
std::string Readable(absl::Duration duration) {
  const absl::Duration day = absl::Hours(24);
  if (duration < day || duration == absl::InfiniteDuration()) return absl::FormatDuration(duration);
  const absl::Duration days = absl::Floor(duration, day);
  return absl::StrCat(days == duration ? "" : "over ", days / day, " days");
}

absl::Status SetExpiry(const CreateRequest& request, Override& draft) {
  const absl::Time now = draft.created_at;
  if (const auto* in = std::get_if<absl::Duration>(&request.expiry)) {
    if (*in < kShortest || *in > kLongest) {
      return Wrong("expires_in", "must be 1 s to 366 days; it is ", Readable(*in));
    }
    draft.expires_at = now + *in;
  } else if (const auto* at = std::get_if<absl::Time>(&request.expiry)) {
    if (*at <= now || *at > now + kLongest) {
      return Wrong("expires_at", "must be in the future, by 366 days at most; it is ",
                   absl::FormatTime(absl::RFC3339_full, *at, absl::UTCTimeZone()), " and now is ",
                   absl::FormatTime(absl::RFC3339_full, now, absl::UTCTimeZone()));
    }
    draft.expires_at = *at;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateWho(const std::string& actor, const std::string& reason) {
  absl::Status status = ValidateText("actor", actor, kMaxActorBytes);
  status.Update(ValidateText("reason", reason, kMaxReasonBytes));
  return status;
}

absl::Status ValidateSelector(const Selector& selector) {
  const int given = (selector.identity.empty() ? 0 : 1) + (selector.segment.empty() ? 0 : 1) +
                    (selector.everything ? 1 : 0);
  if (given != 1) {
    return Wrong("selector", "exactly one of identity, segment and everything is required");
  }
  if (selector.everything) return absl::OkStatus();
  const bool by_segment = selector.identity.empty();
  absl::Status valid = by_segment ? Identity::ValidateSegment(selector.segment)
                                  : Identity::Parse(selector.identity, 0).status();
  if (valid.ok()) return valid;
  return Wrong(by_segment ? "selector.segment" : "selector.identity", valid.message());
}

absl::Status Validate(const DeleteRequest& request) {
  if (request.id <= 0) return Wrong("id", "must be above 0; it is ", request.id);
  return ValidateWho(request.actor, request.reason);
}

bool MakesSense(const Override& override) {
  const bool known = override.kind >= Kind::kPause && override.kind <= Kind::kResume;
  const bool throttles = override.kind == Kind::kThrottle;
  const bool ratio = throttles ? override.ratio > 0 && override.ratio <= 1 : override.ratio == 0;
  return known && ratio && override.id > 0 && ValidateSelector(override.selector).ok();
}

absl::StatusOr<Override> Draft(const CreateRequest& request, const Now& now) {
  Override draft{.kind = request.kind,
                 .selector = request.selector,
                 .actor = request.actor,
                 .reason = request.reason,
                 .created_at = now.wall()};
  absl::Status status = ValidateSelector(request.selector);
  if (request.kind == Kind::kExempt && request.selector.everything) {
    status.Update(Wrong("selector.everything",
                        "cannot be exempt, since no limit would be left and no emergency stop "
                        "would work; exempt an identity or a segment"));
  }
  status.Update(SetRatio(request, draft));
  status.Update(ValidateWho(request.actor, request.reason));
  status.Update(SetExpiry(request, draft));
  if (!status.ok()) return status;
  return draft;
}

}  // namespace headgate::overrides
