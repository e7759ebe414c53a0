#include "server/serve/gateway/shared_answers.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::gateway {
namespace {

constexpr size_t kMostAsked = 4096;  // bytes: what a page asks is short
// What these answer hangs on the caller's rights and not on its name. Explain and ListCosts look at
// the name as well, and a replay takes a core for a while and is not asked for every second.
constexpr std::array<std::string_view, 11> kShared = {
    "/v1/get_status",         "/v1/list_budgets",
    "/v1/list_buckets",       "/v1/list_lines",
    "/v1/list_leases",        "/v1/list_rules",
    "/v1/list_overrides",     "/v1/list_override_events",
    "/v1/query_throttle_log", "/v1/list_throttled_intervals",
    "/v1/list_denials"};

}  // namespace

std::string SharedAnswers::KeyOf(std::string_view path, std::string_view body,
                                 std::string_view rights) {
  if (body.size() > kMostAsked) return "";
  if (std::find(kShared.begin(), kShared.end(), path) == kShared.end()) return "";
  // Each with its length, so that no two questions have the same key.
  return absl::StrCat(path.size(), ":", Sv(path), rights.size(), ":", Sv(rights), Sv(body));
}

bool SharedAnswers::Find(const std::string& key, int64_t now_ns, std::string& body) {
  const MutexLock lock(&mutex_);
  const auto found = answers_.find(key);
  if (found == answers_.end() || !IsFresh(found->second, now_ns)) return false;
  body = found->second.body;
  return true;
}

void SharedAnswers::Keep(const std::string& key, int64_t asked_ns, std::string_view body) {
  const MutexLock lock(&mutex_);
  if (asked_ns <= changed_ns_) return;
  for (auto it = answers_.begin(); it != answers_.end();) {
    if (IsFresh(it->second, asked_ns) && it->first != key) {
      ++it;
      continue;
    }
    bytes_ -= it->first.size() + it->second.body.size();
    answers_.erase(it++);
  }
  if (bytes_ + key.size() + body.size() > kMostBytes) return;
  bytes_ += key.size() + body.size();
  answers_.emplace(key, Answer{.asked_ns = asked_ns, .body = std::string(body)});
}

void SharedAnswers::Clear(int64_t now_ns) {
  const MutexLock lock(&mutex_);
  answers_.clear();
  bytes_ = 0;
  changed_ns_ = std::max(changed_ns_, now_ns);
}

}  // namespace headgate::gateway
