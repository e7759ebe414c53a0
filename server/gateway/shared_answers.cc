#include "server/gateway/shared_answers.h"

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/gateway/page_rules.h"

namespace headgate::gateway {
namespace {

constexpr size_t kMostAsked = 4096;  // bytes: what a page asks is short

}  // namespace

std::string SharedAnswers::KeyOf(const http::Request& request) {
  // A replay takes a core for a while, and is not asked for every second.
  if (!request.has_origin || !IsRead(request.path) || request.body.size() > kMostAsked ||
      request.path.starts_with("/v1/replay_")) {
    return "";
  }
  std::string key;
  // Each with its length, so that no two requests have the same one.
  const auto add = [&key](std::string_view part) {
    absl::StrAppend(&key, part.size(), ":", Sv(part));
  };
  add(request.path);
  add(request.body);
  add(request.peer->is_tls ? "tls" : "");
  for (const std::string_view token : request.authorization) add(token);
  add("names");
  for (const std::string& name : request.peer->certificate_names) add(name);
  return key;
}

bool SharedAnswers::Find(const std::string& key, int64_t now_ns, std::string& body) {
  const MutexLock lock(&mutex_);
  const auto found = answers_.find(key);
  if (found == answers_.end() || !IsFresh(found->second, now_ns)) return false;
  body = found->second.body;
  return true;
}

void SharedAnswers::Keep(const std::string& key, int64_t now_ns, std::string_view body) {
  const MutexLock lock(&mutex_);
  for (auto it = answers_.begin(); it != answers_.end();) {
    if (IsFresh(it->second, now_ns) && it->first != key) {
      ++it;
      continue;
    }
    bytes_ -= it->first.size() + it->second.body.size();
    answers_.erase(it++);
  }
  if (bytes_ + key.size() + body.size() > kMostBytes) return;
  bytes_ += key.size() + body.size();
  answers_.emplace(key, Answer{.at_ns = now_ns, .body = std::string(body)});
}

void SharedAnswers::Clear() {
  const MutexLock lock(&mutex_);
  answers_.clear();
  bytes_ = 0;
}

}  // namespace headgate::gateway
