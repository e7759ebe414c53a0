// What a caller may: the refusals, and the rights that have no cost to count.

#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/access/access_control.h"

namespace headgate::access {

AccessControl::Refused AccessControl::ForeignIdentity(const Asker& asker, std::string_view identity,
                                                      const char* field) {
  Identity parsed;
  if (!Identity::Parse(identity, 0, parsed).ok()) return std::nullopt;
  return Refuse(asker, {.reason = RefusalReason::kIdentity,
                        .code = "IDENTITY_NOT_GRANTED",
                        .missing = absl::StrCat("identity ", Quoted(identity)),
                        .field = field,
                        .text = absl::StrCat("caller ", Quoted(asker.caller->name()),
                                             " may not speak for ", Quoted(identity))});
}

AccessControl::Refused AccessControl::ForeignTag(const Asker& asker, std::string_view key,
                                                 std::string_view value) {
  const std::string tag = absl::StrCat(Quoted(key), "=", Quoted(value));
  return Refuse(asker, {.reason = RefusalReason::kTag,
                        .code = "TAG_NOT_GRANTED",
                        .missing = absl::StrCat("tag ", tag),
                        .field = "tags",
                        .text = absl::StrCat("caller ", Quoted(asker.caller->name()),
                                             " may not claim ", tag, ", which a rule protects")});
}

AccessControl::Refused AccessControl::ForeignSegment(const Asker& asker, std::string_view segment) {
  return Refuse(asker, {.reason = RefusalReason::kTag,
                        .code = "SEGMENT_NOT_GRANTED",
                        .missing = absl::StrCat("segment ", Quoted(segment)),
                        .field = "identity",
                        .text = absl::StrCat("caller ", Quoted(asker.caller->name()),
                                             " may not use the segment ", Quoted(segment),
                                             ", which a rule protects")});
}

namespace {

constexpr char kOverrides[] = "OVERRIDES_NOT_GRANTED";
constexpr char kLogs[] = "LOGS_NOT_GRANTED";

Refusal Lacks(const Caller& caller, RefusalReason reason, const char* code, const char* right) {
  return {.reason = reason,
          .code = code,
          .missing = absl::StrCat(right, ": true"),
          .text = absl::StrCat("caller ", Quoted(caller.name()), " is not granted ", right)};
}

// A right on some identities does not reach over all of them.
Refusal LacksAll(const Caller& caller, RefusalReason reason, const char* code, const char* what) {
  return {.reason = reason,
          .code = code,
          .missing = "identities: ['*']",
          .text = absl::StrCat("caller ", Quoted(caller.name()), " may ", what,
                               " of its own identities only; name one of them")};
}

}  // namespace

AccessControl::Refused AccessControl::MayOverride(const Asker& asker) {
  if (asker.caller == nullptr || asker.caller->overrides()) return std::nullopt;
  return Refuse(asker, Lacks(*asker.caller, RefusalReason::kOverrides, kOverrides, "overrides"));
}

AccessControl::Refused AccessControl::MayOverride(const Asker& asker, std::string_view identity,
                                                  const char* field) {
  if (Refused refused = MayOverride(asker); refused.has_value()) return refused;
  if (asker.caller == nullptr || asker.caller->MaySpeakForAll()) return std::nullopt;
  if (identity.empty()) {
    return Refuse(asker, LacksAll(*asker.caller, RefusalReason::kOverrides, kOverrides,
                                  "make and end overrides"));
  }
  if (asker.caller->MaySpeakFor(identity)) return std::nullopt;
  return ForeignIdentity(asker, identity, field);
}

AccessControl::Refused AccessControl::MayReadLogs(const Asker& asker, std::string_view identity,
                                                  const char* field) {
  if (asker.caller == nullptr) return std::nullopt;
  if (!asker.caller->logs())
    return Refuse(asker, Lacks(*asker.caller, RefusalReason::kLogs, kLogs, "logs"));
  if (asker.caller->MaySpeakForAll()) return std::nullopt;
  // "*" stands for what is counted under no identity: that may be anybody's.
  if (identity.empty() || identity == kAnyIdentity) {
    return Refuse(asker, LacksAll(*asker.caller, RefusalReason::kLogs, kLogs, "read the log"));
  }
  if (asker.caller->MaySpeakFor(identity)) return std::nullopt;
  return ForeignIdentity(asker, identity, field);
}

AccessControl::Refused AccessControl::MayReadStatus(const Asker& asker) {
  if (asker.caller == nullptr || asker.caller->status()) return std::nullopt;
  return Refuse(asker,
                Lacks(*asker.caller, RefusalReason::kStatus, "STATUS_NOT_GRANTED", "status"));
}

void AccessControl::NoteForeignPermit(const Asker& asker) {
  if (asker.caller == nullptr) return;
  Refuse(asker, {.reason = RefusalReason::kPermit,
                 .code = "UNKNOWN_PERMIT",
                 .missing = "a permit of its own",
                 .text = absl::StrCat("caller ", Quoted(asker.caller->name()),
                                      " reported a permit that it was never given")});
}

}  // namespace headgate::access
