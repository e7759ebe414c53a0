#include "server/tls/server_tls.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_text.h"
#include "common/settled_file.h"
#include "server/tls/current_credentials.h"

namespace headgate::tls {
namespace {

absl::Status Unreadable(const std::string& file, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", why.message()));
}

// The text of a file; nothing where there is none to read.
absl::Status ReadInto(const std::string& file, std::string& text) {
  if (file.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> read = ReadFileText(file);
  if (!read.ok()) return Unreadable(file, read.status());
  text = *std::move(read);
  return absl::OkStatus();
}

absl::StatusOr<TlsCredentials> Checked(const TlsFiles& files, TlsCredentials credentials) {
  if (absl::Status status = CheckCredentials(files, credentials); !status.ok()) return status;
  return credentials;
}

absl::StatusOr<TlsCredentials> ReadNow(const TlsFiles& files) {
  TlsCredentials read;
  absl::Status status = ReadInto(files.certificates, read.certificates);
  if (status.ok()) status = ReadInto(files.key, read.key);
  if (status.ok()) status = ReadInto(files.authorities, read.authorities);
  if (!status.ok()) return status;
  return Checked(files, std::move(read));
}

}  // namespace

// All files, one look at a time.
class ServerTls::Files {
 public:
  explicit Files(const TlsFiles& files) : files_(files) {
    watched_.reserve(3);
    watched_.emplace_back(files.certificates, &TlsCredentials::certificates);
    watched_.emplace_back(files.key, &TlsCredentials::key);
    if (files.authorities.empty()) return;
    watched_.emplace_back(files.authorities, &TlsCredentials::authorities);
  }

  // What they say together, or why not, once one of them has changed and all have settled.
  std::optional<absl::StatusOr<TlsCredentials>> Look() {
    bool changed = false;
    for (Watched& watched : watched_) {
      std::optional<SettledFile::Content> news = watched.file.Look();
      if (!news.has_value()) continue;
      watched.content = *std::move(news);
      changed = true;
    }
    if (!changed) return std::nullopt;
    TlsCredentials read;
    for (const Watched& watched : watched_) {
      if (!watched.content.has_value()) return std::nullopt;  // not yet
      if (!watched.content->ok()) return Unreadable(watched.path, watched.content->status());
      read.*watched.into = **watched.content;
    }
    return Checked(files_, std::move(read));
  }

 private:
  struct Watched {
    Watched(const std::string& file_path, std::string TlsCredentials::*member)
        : path(file_path), into(member), file(file_path) {}

    std::string path;
    std::string TlsCredentials::*into;
    SettledFile file;
    std::optional<SettledFile::Content> content = {};
  };

  const TlsFiles& files_;
  std::vector<Watched> watched_;
};

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Load(const config::TlsSettings& settings,
                                                           Clock& clock, OnChange on_change,
                                                           absl::Duration interval) {
  // make_unique cannot call the private constructor.
  std::unique_ptr<ServerTls> tls(new ServerTls(settings, clock, std::move(on_change), interval));
  absl::StatusOr<TlsCredentials> read = ReadNow(tls->files_);
  if (!read.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tls: ", read.status().message()));
  }
  tls->Take(std::move(read));
  tls->thread_ = std::thread(&ServerTls::Run, tls.get());
  return tls;
}

ServerTls::ServerTls(const config::TlsSettings& settings, Clock& clock, OnChange on_change,
                     absl::Duration interval)
    : files_{.certificates = settings.certificate_file,
             .key = settings.key_file,
             .authorities = settings.client_ca_file},
      clock_(clock),
      on_change_(std::move(on_change)),
      interval_(interval),
      current_(std::make_shared<CurrentCredentials>()),
      credentials_(NewServerCredentials(current_, settings.client_certificates)) {}

ServerTls::~ServerTls() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

TlsState ServerTls::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool ServerTls::Take(absl::StatusOr<TlsCredentials> read) {
  const absl::Time now = clock_.Read().wall();
  const std::lock_guard lock(mutex_);
  if (!read.ok()) {
    state_.status = read.status();
    return true;
  }
  const bool was_refused = !std::exchange(state_.status, absl::OkStatus()).ok();
  if (*read == current_->Get()) return was_refused;
  state_.expires_at = read->expires_at;
  state_.loaded_at = now;
  ++state_.loads;
  current_->Set(*std::move(read));
  return true;
}

void ServerTls::Run() {
  Files files(files_);
  const auto interval = absl::ToChronoNanoseconds(interval_);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    if (auto news = files.Look(); news.has_value() && Take(*std::move(news))) on_change_(state());
    lock.lock();
    stop_changed_.wait_for(lock, interval, [this] { return stop_; });
  }
}

}  // namespace headgate::tls
