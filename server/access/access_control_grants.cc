// What a caller may: the refusals, and the rights that have no cost to count.

#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/access/access_control.h"

namespace headgate::access {

AccessControl::Refused AccessControl::ForeignIdentity(const Caller& caller,
                                                      std::string_view identity,
                                                      const char* field) {
  Identity parsed;
  if (!Identity::Parse(identity, 0, parsed).ok()) return std::nullopt;
  return Refuse({.reason = RefusalReason::kIdentity,
                 .code = "IDENTITY_NOT_GRANTED",
                 .caller = caller.name(),
                 .missing = absl::StrCat("identity ", Quoted(identity)),
                 .field = field,
                 .text = absl::StrCat("caller ", Quoted(caller.name()), " may not speak for ",
                                      Quoted(identity))});
}

AccessControl::Refused AccessControl::ForeignTag(const Caller& caller, std::string_view key,
                                                 std::string_view value) {
  const std::string tag = absl::StrCat(Quoted(key), "=", Quoted(value));
  return Refuse({.reason = RefusalReason::kTag,
                 .code = "TAG_NOT_GRANTED",
                 .caller = caller.name(),
                 .missing = absl::StrCat("tag ", tag),
                 .field = "tags",
                 .text = absl::StrCat("caller ", Quoted(caller.name()), " may not claim ", tag,
                                      ", which a rule protects")});
}

AccessControl::Refused AccessControl::ForeignSegment(const Caller& caller,
                                                     std::string_view segment) {
  return Refuse({.reason = RefusalReason::kTag,
                 .code = "SEGMENT_NOT_GRANTED",
                 .caller = caller.name(),
                 .missing = absl::StrCat("segment ", Quoted(segment)),
                 .field = "identity",
                 .text = absl::StrCat("caller ", Quoted(caller.name()), " may not use the segment ",
                                      Quoted(segment), ", which a rule protects")});
}

namespace {

constexpr char kOverrides[] = "OVERRIDES_NOT_GRANTED";
constexpr char kLogs[] = "LOGS_NOT_GRANTED";

Refusal Lacks(const Caller& caller, RefusalReason reason, const char* code, const char* right) {
  return {.reason = reason,
          .code = code,
          .caller = caller.name(),
          .missing = absl::StrCat(right, ": true"),
          .text = absl::StrCat("caller ", Quoted(caller.name()), " is not granted ", right)};
}

// A right on some identities does not reach over all of them.
Refusal LacksAll(const Caller& caller, RefusalReason reason, const char* code, const char* what) {
  return {.reason = reason,
          .code = code,
          .caller = caller.name(),
          .missing = "identities: ['*']",
          .text = absl::StrCat("caller ", Quoted(caller.name()), " may ", what,
                               " of its own identities only; name one of them")};
}

}  // namespace

AccessControl::Refused AccessControl::MayOverride(const Caller* caller) {
  if (caller == nullptr || caller->overrides()) return std::nullopt;
  return Refuse(Lacks(*caller, RefusalReason::kOverrides, kOverrides, "overrides"));
}

AccessControl::Refused AccessControl::MayOverride(const Caller* caller, std::string_view identity,
                                                  const char* field) {
  if (Refused refused = MayOverride(caller); refused.has_value()) return refused;
  if (caller == nullptr || caller->MaySpeakForAll()) return std::nullopt;
  if (identity.empty()) {
    return Refuse(
        LacksAll(*caller, RefusalReason::kOverrides, kOverrides, "make and end overrides"));
  }
  if (caller->MaySpeakFor(identity)) return std::nullopt;
  return ForeignIdentity(*caller, identity, field);
}

AccessControl::Refused AccessControl::MayReadLogs(const Caller* caller, std::string_view identity,
                                                  const char* field) {
  if (caller == nullptr) return std::nullopt;
  if (!caller->logs()) return Refuse(Lacks(*caller, RefusalReason::kLogs, kLogs, "logs"));
  if (caller->MaySpeakForAll()) return std::nullopt;
  // "*" stands for what is counted under no identity: that may be anybody's.
  if (identity.empty() || identity == kAnyIdentity) {
    return Refuse(LacksAll(*caller, RefusalReason::kLogs, kLogs, "read the log"));
  }
  if (caller->MaySpeakFor(identity)) return std::nullopt;
  return ForeignIdentity(*caller, identity, field);
}

AccessControl::Refused AccessControl::MayReadStatus(const Caller* caller) {
  if (caller == nullptr || caller->status()) return std::nullopt;
  return Refuse(Lacks(*caller, RefusalReason::kStatus, "STATUS_NOT_GRANTED", "status"));
}

void AccessControl::NoteForeignPermit(const Caller* caller) {
  if (caller == nullptr) return;
  Note({.reason = RefusalReason::kPermit,
        .code = "UNKNOWN_PERMIT",
        .caller = caller->name(),
        .missing = "a permit of its own",
        .text = absl::StrCat("caller ", Quoted(caller->name()),
                             " reported a permit that it was never given")});
}

}  // namespace headgate::access
