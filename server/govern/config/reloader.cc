#include "server/govern/config/reloader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file_text.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

// The fields that differ and that only a restart can change.
std::vector<std::string> PendingRestart(const Config& running, const Config& wanted) {
  std::vector<std::string> pending;
  const auto compare = [&](const char* field, const auto& a, const auto& b) {
    if (a != b) pending.emplace_back(field);
  };
  const ServerSettings& server = running.server;
  compare("server.grpc_address", server.grpc_address, wanted.server.grpc_address);
  compare("server.reflection", server.reflection, wanted.server.reflection);
  compare("server.max_message_bytes", server.max_message_bytes, wanted.server.max_message_bytes);
  compare("server.threads", server.threads, wanted.server.threads);
  compare("server.state_dir", server.state_dir, wanted.server.state_dir);
  compare("server.max_connections", server.max_connections, wanted.server.max_connections);
  compare("server.max_connection_age", server.max_connection_age, wanted.server.max_connection_age);
  compare("server.line", server.line, wanted.server.line);
  compare("tls", running.tls, wanted.tls);
  const engine::EngineOptions& engine = running.engine;
  compare("engine.permit_ttl", engine.permit_ttl, wanted.engine.permit_ttl);
  compare("engine.max_permits", engine.max_permits, wanted.engine.max_permits);
  compare("engine.max_permit_share", engine.max_permit_share, wanted.engine.max_permit_share);
  compare("engine.max_patterns", engine.max_patterns, wanted.engine.max_patterns);
  compare("engine.bucket_bytes", engine.bucket_bytes, wanted.engine.bucket_bytes);
  compare("cluster", running.cluster, wanted.cluster);
  compare("throttle_log", running.throttle_log, wanted.throttle_log);
  return pending;
}

}  // namespace

ConfigStore::ConfigStore(std::string path, Clock& clock) : path_(std::move(path)), clock_(clock) {
  status_.path = path_;
}

absl::Status ConfigStore::InFile(const absl::Status& why) const {
  std::vector<std::string> lines;
  for (const auto line : absl::StrSplit(why.message(), '\n')) {
    lines.push_back(path_.empty() ? std::string(line) : absl::StrCat(path_, ": ", line));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

absl::StatusOr<ConfigStore::Loaded> ConfigStore::Read(const absl::StatusOr<std::string>& text,
                                                      OtherFiles other_files) const {
  if (!text.ok()) return InFile(text.status());
  LoadResult loaded = Parse(*text, path_, other_files, clock_.Read().wall());
  if (!loaded.config.has_value()) return loaded.status();
  return Loaded{.text = *text, .config = *std::move(loaded.config), .warnings = loaded.Warnings()};
}

absl::StatusOr<const Config*> ConfigStore::Load() {
  MutexLock lock(&update_mutex_);
  absl::StatusOr<Loaded> loaded = Read(
      path_.empty() ? absl::StatusOr<std::string>("") : ReadFileText(path_), OtherFiles::kRead);
  if (!loaded.ok()) return loaded.status();
  return &loaded_.emplace(*std::move(loaded)).config;
}

absl::Status ConfigStore::Start(Apply apply) {
  MutexLock lock(&update_mutex_);
  apply_ = std::move(apply);
  return Replace(*std::exchange(loaded_, std::nullopt));
}

void ConfigStore::Update(const absl::StatusOr<std::string>& text) {
  MutexLock lock(&update_mutex_);
  not_applied_.reset();
  if (text.ok() && *text == text_) {
    Refuse(absl::OkStatus());
  } else {
    Replace(Read(text, OtherFiles::kIgnored)).IgnoreError();  // the status has it
  }
}

void ConfigStore::Retry() {
  MutexLock lock(&update_mutex_);
  if (!not_applied_.has_value()) return;
  const std::string text = *std::exchange(not_applied_, std::nullopt);
  const LoadStatus before = status();
  if (Replace(Read(text, OtherFiles::kIgnored)).ok()) return;
  MutexLock status_lock(&mutex_);
  if (status_.errors == before.errors) status_.refused_at = before.refused_at;
}

absl::Status ConfigStore::Replace(absl::StatusOr<Loaded> loaded) {
  absl::Status status = loaded.status();
  const std::shared_ptr<const Config> in_force = current();
  const bool had_rules = in_force != nullptr && !in_force->policy.rules.empty();
  if (status.ok() && had_rules && loaded->config.policy.rules.empty()) {
    status =
        InFile(absl::FailedPreconditionError("all rules were taken out, and without any nothing "
                                             "is limited: that takes a restart; the "
                                             "configuration before stays"));
  }
  if (status.ok()) {
    if (const absl::Status applied = apply_(loaded->config); !applied.ok()) {
      not_applied_ = loaded->text;
      status = InFile(applied);
    }
  }
  if (!status.ok()) {
    Refuse(status);
    return status;
  }
  text_ = loaded->text;
  Accept(*std::move(loaded));
  return absl::OkStatus();
}

void ConfigStore::Accept(Loaded loaded) {
  auto accepted = std::make_shared<const Config>(std::move(loaded.config));
  const absl::Time now = clock_.Read().wall();
  MutexLock lock(&mutex_);
  if (started_with_ == nullptr) started_with_ = accepted;
  current_ = std::move(accepted);
  ++status_.version;
  status_.loaded_at = now;
  status_.errors.clear();
  status_.refused_at = absl::InfinitePast();
  status_.pending_restart = PendingRestart(*started_with_, *current_);
  status_.warnings = std::move(loaded.warnings);
}

void ConfigStore::Refuse(const absl::Status& why) {
  const absl::Time now = clock_.Read().wall();
  MutexLock lock(&mutex_);
  status_.refused_at = why.ok() ? absl::InfinitePast() : now;
  status_.errors.clear();
  if (!why.ok()) status_.errors = absl::StrSplit(why.message(), '\n');
}

std::shared_ptr<const Config> ConfigStore::current() const {
  MutexLock lock(&mutex_);
  return current_;
}

LoadStatus ConfigStore::status() const {
  MutexLock lock(&mutex_);
  return status_;
}

}  // namespace headgate::config
