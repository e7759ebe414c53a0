#include "client/agent/proc_text.h"

#include <cstddef>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"

namespace headgate::agent {
namespace {

using Words = std::vector<absl::string_view>;

}  // namespace

std::optional<ProcessStat> ParseStat(std::string_view text) {
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  // After the name come state, parent, ...: the start is the 22nd of all.
  constexpr size_t kParent = 1, kStarted = 19;
  const Words words = absl::StrSplit(Sv(text.substr(end_of_name + 1)), ' ', absl::SkipEmpty());
  ProcessStat stat;
  if (words.size() <= kStarted || !absl::SimpleAtoi(words[kParent], &stat.parent) ||
      !absl::SimpleAtoi(words[kStarted], &stat.started_ticks)) {
    return std::nullopt;
  }
  return stat;
}

std::optional<int64_t> ParseSchedstat(std::string_view text) {
  int64_t ran_ns = 0;
  const bool ok = absl::SimpleAtoi(Sv(text.substr(0, text.find(' '))), &ran_ns);
  return ok ? std::optional(ran_ns) : std::nullopt;
}

bool HasCapability(std::string_view status, int capability) {
  constexpr std::string_view kEffective = "\nCapEff:\t";
  const size_t at = status.find(kEffective);
  uint64_t bits = 0;
  return at != std::string_view::npos &&
         absl::SimpleHexAtoi(Sv(status.substr(at + kEffective.size(), 16)), &bits) &&
         (bits >> capability & 1) != 0;
}

bool IsMapOfUserNamespace(std::string_view uid_map) {
  const Words words = absl::StrSplit(Sv(uid_map), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return !words.empty() && words != Words{"0", "0", "4294967295"};
}

}  // namespace headgate::agent
