#include "server/remember/throttle_log/last_checks.h"

#include <algorithm>
#include <string_view>

namespace headgate::throttle_log {
namespace {

LastCheck Keep(const engine::CheckRequest& request, const engine::CheckAnswer& answer, Now now) {
  LastCheck kept{.at = now.wall(),
                 .allowed = answer.verdict == engine::Verdict::kAllowed,
                 .estimated_cost = request.estimated_cost,
                 .predicted_cost = answer.predicted_cost,
                 .pattern = std::string(request.pattern.substr(0, LastChecks::kMostText))};
  size_t text = 0;
  for (const engine::Tag& tag : request.tags) {
    text += tag.key.size() + tag.value.size();
    if (text > LastChecks::kMostTagText) break;
    kept.tags.emplace_back(tag.key, tag.value);
  }
  return kept;
}

size_t BytesOf(const std::optional<LastCheck>& check) {
  if (!check.has_value()) return 0;
  size_t bytes = check->pattern.size();
  for (const auto& [key, value] : check->tags) {
    bytes += sizeof(check->tags[0]) + key.size() + value.size();
  }
  return bytes;
}

}  // namespace

void LastChecks::Note(const engine::CheckRequest& request, const engine::CheckAnswer& answer,
                      Now now) {
  LastCheck kept = Keep(request, answer, now);
  constexpr size_t kOfATable = 48;  // of the list and of what finds it
  MutexLock lock(&mutex_);
  const auto [found, is_new] = by_key_.try_emplace(answer.subject_key);
  if (is_new) {
    subjects_.push_front({.key = answer.subject_key});
    found->second = subjects_.begin();
  } else {
    subjects_.splice(subjects_.begin(), subjects_, found->second);
  }
  Subject& subject = subjects_.front();
  (kept.allowed ? subject.allowed : subject.denied) = std::move(kept);
  const size_t before = subject.bytes;
  subject.bytes = sizeof(Subject) + kOfATable + BytesOf(subject.allowed) + BytesOf(subject.denied);
  bytes_ += subject.bytes - before;
  held_.Add(static_cast<int64_t>(subject.bytes) - static_cast<int64_t>(before));
  while (bytes_ > most_bytes_ && subjects_.size() > 1) Forget(std::prev(subjects_.end()));
}

void LastChecks::Forget(Subjects::iterator subject) {
  bytes_ -= subject->bytes;
  held_.Add(-static_cast<int64_t>(subject->bytes));
  by_key_.erase(subject->key);
  subjects_.erase(subject);
}

std::vector<LastCheck> LastChecks::Of(uint64_t subject_key) const {
  std::vector<LastCheck> checks;
  MutexLock lock(&mutex_);
  const auto found = by_key_.find(subject_key);
  if (found == by_key_.end()) return checks;
  for (const auto* const check : {&found->second->allowed, &found->second->denied}) {
    if (check->has_value()) checks.push_back(**check);
  }
  std::sort(checks.begin(), checks.end(),
            [](const LastCheck& a, const LastCheck& b) { return a.at > b.at; });
  return checks;
}

}  // namespace headgate::throttle_log
