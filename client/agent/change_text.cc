#include "client/agent/change_text.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace headgate::agent {
namespace {

using Kind = Yielder::Change::Kind;

std::string LineOfOne(const Yielder::Change& change) {
  const std::string session = absl::StrCat("session ", change.assignment.pid);
  switch (change.kind) {
    case Kind::kYields:
      return absl::StrCat(session, " yields");
    case Kind::kRaised:
      return change.assignment.rank == Rank::kRaisedForWaiter
                 ? absl::StrCat(session, " is raised: session ", change.assignment.waiter,
                                " waits for it")
                 : absl::StrCat(session, " is raised: it holds a transaction and got no processor");
    case Kind::kRestored:
      return absl::StrCat(session, " is as it was");
    case Kind::kFailed:
      return absl::StrCat(session, " can't be changed: ", change.why.message());
    case Kind::kEnded:
      break;
  }
  return absl::StrCat(session, " has ended");
}

std::string LineOfMany(const std::vector<const Yielder::Change*>& changes) {
  const std::string sessions = absl::StrCat(changes.size(), " sessions");
  switch (changes[0]->kind) {
    case Kind::kYields:
      return absl::StrCat(sessions, " yield");
    case Kind::kRaised:
      return absl::StrCat(sessions, " are raised, the first of them because ",
                          LineOfOne(*changes[0]));
    case Kind::kRestored:
      return absl::StrCat(sessions, " are as they were");
    case Kind::kFailed:
      return absl::StrCat(sessions,
                          " can't be changed, the first of them: ", changes[0]->why.message());
    case Kind::kEnded:
      break;
  }
  return absl::StrCat(sessions, " have ended");
}

}  // namespace

std::vector<std::string> TextOf(const std::vector<Yielder::Change>& changes) {
  std::map<Kind, std::vector<const Yielder::Change*>> kinds;
  for (const Yielder::Change& change : changes) {
    if (change.is_news) kinds[change.kind].push_back(&change);
  }
  std::vector<std::string> lines;
  for (const auto& [kind, some] : kinds) {
    if (some.size() > kMostLinesOfAKind) {
      lines.push_back(LineOfMany(some));
      continue;
    }
    for (const Yielder::Change* change : some) lines.push_back(LineOfOne(*change));
  }
  return lines;
}

}  // namespace headgate::agent
