#include "client/cli/arguments/actor.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

// Cron and containers do not set these variables, and a container may not know its user's name.
std::string UserName() {
  for (const char* name : {"USER", "LOGNAME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 16384> text;
  if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr &&
      *found->pw_name != '\0') {
    return found->pw_name;
  }
  return absl::StrCat("uid ", getuid());
}

}  // namespace

absl::Status WithActorHelp(const absl::Status& status) {
  if (!absl::StartsWith(status.message(), "actor: ")) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(),
                                                  "; --actor or HEADGATE_ACTOR says who does it"));
}

absl::StatusOr<std::string> ActorOf(const ActorArguments& who) {
  std::string actor = who.actor;
  const char* named = std::getenv("HEADGATE_ACTOR");
  if (actor.empty() && named != nullptr) actor = named;
  if (actor.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    actor = absl::StrCat(UserName(), "@", host.data());
  }
  if (IsUtf8(actor)) return actor;
  return WithActorHelp(
      absl::InvalidArgumentError(absl::StrCat("actor: '", Escaped(actor), "' is not UTF-8")));
}

}  // namespace headgate::cli
