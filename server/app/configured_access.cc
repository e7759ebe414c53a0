#include "server/app/configured_access.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_text.h"
#include "server/app/server_log.h"

namespace headgate::app {
namespace {

void LogRefusal(const access::ToldRefusal& told) {
  const access::Refusal& refusal = told.refusal;
  LogWarning("access denied", {{"reason", access::ReasonLabel(refusal.reason)},
                               {"caller", refusal.caller},
                               {"peer", told.peer},
                               {"what", refusal.text},
                               {"untold_before", absl::StrCat(told.untold_before)}});
}

// Where callers are known by tokens, a file without any is not what somebody meant: it was emptied
// by mistake, or is about to be written.
absl::StatusOr<access::TokenBook> ReadBook(const std::string& path,
                                           const absl::StatusOr<std::string>& text,
                                           const std::vector<std::string>& wanted) {
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", text.status().message()));
  }
  absl::StatusOr<access::TokenBook> book = access::TokenBook::Parse(*text, path);
  if (book.ok() && book->size() == 0 && !wanted.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has no tokens, and callers are known by some"));
  }
  return book;
}

// Names of tokens that callers are known by.
std::vector<std::string> Wanted(const std::optional<access::PolicySpec>& spec) {
  std::vector<std::string> names;
  if (!spec.has_value()) return names;
  for (const access::CallerSpec& caller : spec->callers) {
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

// Empty: none.
std::string TokenFileOf(const std::optional<access::PolicySpec>& spec) {
  return spec.has_value() ? spec->token_file : "";
}

}  // namespace

ConfiguredAccess::ConfiguredAccess(uint64_t seed, Clock& clock)
    : access_({.seed = seed, .on_refused = LogRefusal}, clock) {}

absl::StatusOr<access::TokenBook> ConfiguredAccess::ReadTokens(const access::PolicySpec& spec) {
  const std::string& path = spec.token_file;
  if (path.empty()) return access::TokenBook();
  const bool waits = awaited_.has_value() && awaited_->path == path;
  absl::StatusOr<access::TokenBook> book = ReadBook(
      path,
      waits && awaited_->text.has_value() ? *awaited_->text
                                          : ReadFileText(path, access::TokenBook::kMaxFileBytes),
      Wanted(spec));
  // Where the file is being waited for already, that wait goes on. A new one would report the same
  // contents as a change, and the configuration would be tried again without end.
  if (!book.ok() && !waits) awaited_.emplace(path);
  return book;
}

absl::Status ConfiguredAccess::Prepare(const config::Config& config) {
  next_tokens_.reset();
  if (spec_.has_value() && !config.access.has_value()) {
    return absl::FailedPreconditionError(
        "access was taken out, and without it everybody may do everything: that takes a restart; "
        "the configuration before stays");
  }
  if (!config.access.has_value()) return absl::OkStatus();
  if (config.access->token_file != TokenFileOf(spec_)) {
    absl::StatusOr<access::TokenBook> tokens = ReadTokens(*config.access);
    if (!tokens.ok()) return tokens.status();
    next_tokens_ = *std::move(tokens);
  }
  if (!spec_.has_value()) return absl::OkStatus();  // nobody is kept from anything yet
  access::PolicySpec both = *spec_;
  const auto add = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(config.access->protected_tags, both.protected_tags);
  add(config.access->protected_segments, both.protected_segments);
  access_.SetPolicy(both);
  return absl::OkStatus();
}

void ConfiguredAccess::Revert() {
  next_tokens_.reset();
  access_.SetPolicy(spec_);
}

void ConfiguredAccess::Apply(const config::Config& config) {
  std::optional<access::TokenBook> tokens = std::exchange(next_tokens_, std::nullopt);
  const bool other_file = tokens.has_value();
  const std::string path = TokenFileOf(config.access);
  const std::vector<std::string> wanted = Wanted(config.access);
  awaited_.reset();
  spec_ = config.access;
  if (other_file) watcher_ = nullptr;
  {
    MutexLock lock(&mutex_);
    wanted_ = wanted;
    snapshot_.is_on = spec_.has_value();
    if (other_file) {
      snapshot_.token_file = path;
      snapshot_.tokens = static_cast<int64_t>(tokens->size());
      snapshot_.status = absl::OkStatus();
    }
  }
  // The tokens of the same file are the watcher's, which may know newer ones by now.
  if (other_file) {
    access_.Set(spec_, *std::move(tokens));
  } else {
    access_.SetPolicy(spec_);
  }
  if (path.empty()) return;
  WarnOfMissing(*access_.tokens(), wanted, path);
  if (!other_file) return;
  watcher_ = std::make_unique<FileWatcher>(
      SettledFiles({path}), [this, path](const auto& contents) { Update(path, contents.front()); });
}

bool ConfiguredAccess::SeesTokens() {
  if (!awaited_.has_value()) return false;
  std::optional<SettledFiles::Contents> news = awaited_->file.Look();
  if (!news.has_value()) return false;
  awaited_->text = std::move(news->front());
  return true;
}

access::AccessSnapshot ConfiguredAccess::Snapshot() const {
  MutexLock lock(&mutex_);
  return snapshot_;
}

void ConfiguredAccess::Update(const std::string& path, const absl::StatusOr<std::string>& text) {
  std::vector<std::string> wanted;
  {
    MutexLock lock(&mutex_);
    wanted = wanted_;
  }
  absl::StatusOr<access::TokenBook> book = ReadBook(path, text, wanted);
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
  access_.SetTokens(*std::move(book));
}

}  // namespace headgate::app
