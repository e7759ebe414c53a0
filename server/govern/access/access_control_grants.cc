// What a caller may: the refusals, and the rights that have no cost to count.

#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/govern/access/access_control.h"

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

Refusal Lacks(const Caller& caller, RefusalReason reason, const char* code, const char* right) {
  return {.reason = reason,
          .code = code,
          .missing = absl::StrCat(right, ": true"),
          .text = absl::StrCat("caller ", Quoted(caller.name()), " is not granted ", right)};
}

constexpr char kOverrides[] = "OVERRIDES_NOT_GRANTED";

}  // namespace

AccessControl::Refused AccessControl::MayDo(const Asker& asker, const IdentityRight& right,
                                            bool granted, std::string_view identity,
                                            const char* field) {
  const Caller& caller = *asker.caller;
  if (!granted) return Refuse(asker, Lacks(caller, right.reason, right.code, right.name));
  if (caller.MaySpeakForAll()) return std::nullopt;
  // A right on some identities does not reach over all of them.
  if (identity.empty()) {
    return Refuse(asker,
                  {.reason = right.reason,
                   .code = right.code,
                   .missing = "identities: ['*']",
                   .text = absl::StrCat("caller ", Quoted(caller.name()), " may ", right.doing,
                                        " of its own identities only; name one of them")});
  }
  if (caller.MaySpeakFor(identity)) return std::nullopt;
  return ForeignIdentity(asker, identity, field);
}

AccessControl::Refused AccessControl::MayOverride(const Asker& asker) {
  const Caller* const caller = asker.caller;
  if (caller == nullptr) return std::nullopt;
  if (caller->overrides() || caller->exempt_overrides() || caller->everything()) {
    return std::nullopt;
  }
  return Refuse(asker, Lacks(*caller, RefusalReason::kOverrides, kOverrides, "overrides"));
}

AccessControl::Refused AccessControl::MayOverride(const Asker& asker, OverrideGrant grant,
                                                  std::string_view identity, const char* field) {
  const Caller* const caller = asker.caller;
  if (caller == nullptr) return std::nullopt;
  switch (grant) {
    case OverrideGrant::kEverything:
      if (caller->everything()) return std::nullopt;
      return Refuse(
          asker, Lacks(*caller, RefusalReason::kOverrides, "EVERYTHING_NOT_GRANTED", "everything"));
    case OverrideGrant::kExempt:
      return MayDo(asker,
                   {.reason = RefusalReason::kOverrides,
                    .code = "EXEMPT_OVERRIDES_NOT_GRANTED",
                    .name = "exempt_overrides",
                    .doing = "make and end exempt overrides"},
                   caller->exempt_overrides(), identity, field);
    case OverrideGrant::kOverrides:
      break;
  }
  return MayDo(asker,
               {.reason = RefusalReason::kOverrides,
                .code = kOverrides,
                .name = "overrides",
                .doing = "make and end overrides"},
               caller->overrides(), identity, field);
}

AccessControl::Refused AccessControl::RefuseToLiftStop(const Asker& asker, std::string_view stop) {
  return Refuse(asker, {.reason = RefusalReason::kOverrides,
                        .code = "EVERYTHING_NOT_GRANTED",
                        .missing = "everything: true",
                        .text = absl::StrCat("caller ", Quoted(asker.caller->name()),
                                             " may not resume anything under ", Sv(stop))});
}

AccessControl::Refused AccessControl::MayUseCosts(const Asker& asker, std::string_view identity,
                                                  const char* field) {
  if (asker.caller == nullptr) return std::nullopt;
  return MayDo(asker,
               {.reason = RefusalReason::kCosts,
                .code = "COSTS_NOT_GRANTED",
                .name = "costs",
                .doing = "see and forget learnt costs"},
               asker.caller->costs(), identity, field);
}

AccessControl::Refused AccessControl::MayForgive(const Asker& asker, std::string_view identity,
                                                 const char* field) {
  if (asker.caller == nullptr) return std::nullopt;
  return MayDo(asker,
               {.reason = RefusalReason::kForgive,
                .code = "FORGIVE_NOT_GRANTED",
                .name = "forgive",
                .doing = "forgive debts"},
               asker.caller->forgive(), identity, field);
}

AccessControl::Refused AccessControl::MayReadLogs(const Asker& asker, std::string_view identity,
                                                  const char* field) {
  if (asker.caller == nullptr) return std::nullopt;
  // "*" stands for what is counted under no identity: that may be anybody's.
  if (identity == kAnyIdentity) identity = {};
  return MayDo(asker,
               {.reason = RefusalReason::kLogs,
                .code = "LOGS_NOT_GRANTED",
                .name = "logs",
                .doing = "read the log"},
               asker.caller->logs(), identity, field);
}

AccessControl::Refused AccessControl::MayReadStatus(const Asker& asker) {
  if (asker.caller == nullptr || asker.caller->status()) return std::nullopt;
  return Refuse(asker,
                Lacks(*asker.caller, RefusalReason::kStatus, "STATUS_NOT_GRANTED", "status"));
}

AccessControl::Refused AccessControl::MayArrangeServers(const Asker& asker) {
  if (asker.caller == nullptr || asker.caller->servers()) return std::nullopt;
  return Refuse(asker,
                Lacks(*asker.caller, RefusalReason::kServers, "SERVERS_NOT_GRANTED", "servers"));
}

AccessControl::Refused AccessControl::MayBeAgent(const Asker& asker) {
  if (asker.caller == nullptr || asker.caller->agent()) return std::nullopt;
  return Refuse(asker, Lacks(*asker.caller, RefusalReason::kAgent, "AGENT_NOT_GRANTED", "agent"));
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
