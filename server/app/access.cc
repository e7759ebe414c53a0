#include "server/app/access.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/app/log.h"
#include "server/config/file_text.h"

namespace headgate::app {
namespace {

void LogDenial(const access::Denial& denial) {
  const access::Refusal& refusal = denial.refusal;
  LogWarning("access denied", {{"reason", access::ReasonLabel(refusal.reason)},
                               {"caller", refusal.caller},
                               {"peer", denial.peer},
                               {"what", refusal.text},
                               {"untold_before", absl::StrCat(denial.untold_before)}});
}

absl::StatusOr<access::TokenBook> ReadBook(const std::string& path,
                                           const absl::StatusOr<std::string>& text) {
  if (text.ok()) return access::TokenBook::Parse(*text, path);
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", text.status().message()));
}

// Names of tokens that callers are known by.
std::vector<std::string> Wanted(const access::PolicySpec& spec) {
  std::vector<std::string> names;
  for (const access::CallerSpec& caller : spec.callers) {
    if (!caller.token.empty()) names.push_back(caller.token);
  }
  return names;
}

// Not an error: taking a token away is how a caller is shut out.
void WarnOfMissing(const access::TokenBook& book, const std::vector<std::string>& wanted,
                   const std::string& path) {
  const std::vector<std::string> names = book.Names();  // sorted
  for (const std::string& name : wanted) {
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    LogWarning("no such token", {{"token", name}, {"file", path}});
  }
}

}  // namespace

Access::Access(uint64_t seed, Clock& clock)
    : guard_({.seed = seed, .on_denied = LogDenial}, clock) {}

absl::StatusOr<access::TokenBook> Access::ReadTokens(const config::Config& config) {
  if (!config.access.has_value() || config.access->token_file.empty()) return access::TokenBook();
  const std::string& path = config.access->token_file;
  return ReadBook(path, config::ReadFileText(path, access::TokenBook::kMaxFileBytes));
}

void Access::Apply(const config::Config& config, access::TokenBook tokens) {
  watcher_ = nullptr;
  {
    MutexLock lock(&mutex_);
    snapshot_ = {.is_on = config.access.has_value(),
                 .token_file = config.access.has_value() ? config.access->token_file : "",
                 .tokens = static_cast<int64_t>(tokens.size())};
  }
  if (config.access.has_value() && !config.access->token_file.empty()) {
    const std::string path = config.access->token_file;
    const std::vector<std::string> wanted = Wanted(*config.access);
    WarnOfMissing(tokens, wanted, path);
    guard_.Set(config.access, std::move(tokens));
    spec_ = config.access;
    watcher_ = std::make_unique<config::FileWatcher>(
        path, [this, path, wanted](const auto& text) { Update(path, wanted, text); });
    return;
  }
  guard_.Set(config.access, std::move(tokens));
  spec_ = config.access;
}

void Access::Prepare(const config::Config& config) {
  if (!spec_.has_value() || !config.access.has_value()) return;
  access::PolicySpec both = *spec_;
  const auto add = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(config.access->protected_tags, both.protected_tags);
  add(config.access->protected_segments, both.protected_segments);
  guard_.SetPolicy(both);
}

rpc::AccessSnapshot Access::Snapshot() const {
  MutexLock lock(&mutex_);
  return snapshot_;
}

void Access::Update(const std::string& path, const std::vector<std::string>& wanted,
                    const absl::StatusOr<std::string>& text) {
  absl::StatusOr<access::TokenBook> book = ReadBook(path, text);
  {
    MutexLock lock(&mutex_);
    snapshot_.status = book.status();
    if (book.ok()) snapshot_.tokens = static_cast<int64_t>(book->size());
  }
  if (!book.ok()) {
    for (const absl::string_view error : absl::StrSplit(book.status().message(), '\n')) {
      LogError("tokens refused", {{"error", std::string_view(error.data(), error.size())}});
    }
    return;
  }
  LogInfo("tokens loaded", {{"file", path}, {"tokens", absl::StrCat(book->size())}});
  WarnOfMissing(*book, wanted, path);
  guard_.SetTokens(*std::move(book));
}

}  // namespace headgate::app
