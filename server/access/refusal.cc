#include "server/access/refusal.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::access {

std::string_view ReasonLabel(DenialReason reason) {
  switch (reason) {
    case DenialReason::kUnauthenticated:
      return "unauthenticated";
    case DenialReason::kIdentity:
      return "identity";
    case DenialReason::kTag:
      return "tag";
    case DenialReason::kOverrides:
      return "overrides";
    case DenialReason::kLogs:
      return "logs";
    case DenialReason::kStatus:
      return "status";
    case DenialReason::kPermit:
      return "permit";
  }
  return "unknown";
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMostBytes = 100;
  // Escaped byte by byte, so that a cut within a character does no harm.
  const std::string shown = absl::CHexEscape(Sv(text.substr(0, kMostBytes)));
  return absl::StrCat("'", shown, text.size() > kMostBytes ? "...'" : "'");
}

}  // namespace headgate::access
