#include "server/app/unmatched_names.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace headgate::app {

void UnmatchedNames::Apply(std::shared_ptr<const config::IdentityNames> names) {
  MutexLock lock(&mutex_);
  names_ = std::move(names);
  seen_.clear();
}

void UnmatchedNames::Note(std::string_view identity, int64_t checks) {
  MutexLock lock(&mutex_);
  if (names_ == nullptr) return;
  const std::optional<config::IdentityNames::Meaning> meaning = names_->MeantBy(identity);
  if (!meaning.has_value()) return;
  std::pair<std::string, std::string> name(meaning->spelled, meaning->known);
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (seen_.size() >= kMost && !seen_.contains(name)) {
    std::erase_if(seen_, [&](const auto& known) {
      return absl::Nanoseconds(now_ns - known.second.last_ns) > kRecent;
    });
    if (seen_.size() >= kMost) return;
  }
  Seen& seen = seen_[std::move(name)];
  if (seen.checks == 0) {
    seen.identity = std::string(identity);
    seen.rule = meaning->rule;
  }
  seen.checks += checks;
  seen.last_ns = now_ns;
}

std::vector<std::string> UnmatchedNames::Warnings() const {
  std::vector<std::string> warnings;
  MutexLock lock(&mutex_);
  const int64_t now_ns = clock_.Read().monotonic_ns;
  for (const auto& [name, seen] : seen_) {
    const auto& [spelled, known] = name;
    if (absl::Nanoseconds(now_ns - seen.last_ns) > kRecent) continue;
    const bool is_all = seen.identity == spelled;
    warnings.push_back(absl::StrCat(
        "no rule matched ", seen.checks, seen.checks == 1 ? " Check" : " Checks", " of '", spelled,
        is_all ? "'" : absl::StrCat("', such as of '", seen.identity, "'"),
        ", and nothing limits them: identities are case-sensitive; did you mean '", known,
        "', which rule '", seen.rule, "' is for?"));
  }
  return warnings;
}

}  // namespace headgate::app
