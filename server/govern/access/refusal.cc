#include "server/govern/access/refusal.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::access {

std::string_view ReasonLabel(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kUnauthenticated:
      return "unauthenticated";
    case RefusalReason::kIdentity:
      return "identity";
    case RefusalReason::kTag:
      return "tag";
    case RefusalReason::kOverrides:
      return "overrides";
    case RefusalReason::kLogs:
      return "logs";
    case RefusalReason::kStatus:
      return "status";
    case RefusalReason::kPermit:
      return "permit";
    case RefusalReason::kCosts:
      return "costs";
    case RefusalReason::kForgive:
      return "forgive";
    case RefusalReason::kServers:
      return "servers";
    case RefusalReason::kAgent:
      return "agent";
  }
  return "unknown";
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxBytes = 100;
  // Escaped byte by byte, so that a cut within a character does no harm.
  const std::string shown = absl::CHexEscape(Sv(text.substr(0, kMaxBytes)));
  return absl::StrCat("'", shown, text.size() > kMaxBytes ? "...'" : "'");
}

}  // namespace headgate::access
