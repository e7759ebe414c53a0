#include "server/serve/rpc/operator_change.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "server/remember/overrides/request.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

bool IsBlank(const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; }

// Adds to `reason` on whose behalf it is, as far as there is room: the request is good without.
void NameInReason(const std::string& named, std::string& reason) {
  constexpr absl::string_view kBegin = " (asked by ";
  constexpr absl::string_view kCut = "...";
  constexpr size_t kFrame = kBegin.size() + 1;
  const size_t room = overrides::kMaxReasonBytes - reason.size();
  if (named.size() + kFrame <= room) {
    absl::StrAppend(&reason, kBegin, named, ")");
    return;
  }
  size_t end = 0;
  while (end < named.size()) {
    const size_t next =
        end + std::max<size_t>(CharacterBytes(std::string_view(named).substr(end)), 1);
    if (next + kCut.size() + kFrame > room) break;
    end = next;
  }
  if (end > 0) absl::StrAppend(&reason, kBegin, absl::string_view(named).substr(0, end), kCut, ")");
}

}  // namespace

grpc::Status NoStateFolder(std::string_view what) {
  return transport::Failure(
      absl::StatusCode::kFailedPrecondition, "NO_STATE_FOLDER",
      absl::StrCat("there is no folder to keep ", Sv(what),
                   " in: set server.state_dir in the configuration, or start headgated with "
                   "--state-dir"));
}

absl::Status Attribute(const access::Caller& caller, std::string& actor, std::string& reason) {
  const std::string named = std::exchange(actor, caller.name());
  const bool names_another = !IsBlank(named) && named != actor;
  absl::Status valid = overrides::ValidateWho(names_another ? named : actor, reason);
  if (valid.ok() && names_another) NameInReason(named, reason);
  return valid;
}

}  // namespace headgate::rpc
