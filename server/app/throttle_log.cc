#include "server/app/throttle_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/connection_string.h"
#include "server/app/server_log.h"
#include "server/observe/postgres/log_store.h"
#include "server/remember/throttle_log/sqlite_store.h"

namespace headgate::app {
namespace {

constexpr int64_t kMaxInMemory = int64_t{64} << 20;

throttle_log::Retention RetentionOf(const ThrottleLogOptions& options) {
  const config::ThrottleLogSettings& settings = options.settings;
  const bool in_memory = options.state_dir.empty() && !settings.postgres.has_value();
  return {.step = settings.step,
          .coarse_step = settings.coarse_step,
          .coarsen_after = settings.coarsen_after,
          .keep_for = settings.retention,
          .max_bytes = in_memory ? std::min(settings.max_bytes, kMaxInMemory) : settings.max_bytes};
}

}  // namespace

ThrottleLog::ThrottleLog(const ThrottleLogOptions& options, Clock& clock)
    : retention_(RetentionOf(options)),
      kept_(OpenStore(options, retention_, clock)),
      recorder_({.seed = options.seed,
                 .max_identities = static_cast<size_t>(options.settings.max_identities),
                 .max_denials = static_cast<size_t>(options.settings.recent_denials),
                 .server = options.server,
                 .on_unmatched = options.on_unmatched}),
      writer_(recorder_, *kept_.store, clock,
              {.step = retention_.step,
               .max_buffered_rows = static_cast<size_t>(options.settings.max_buffered_rows),
               .on_change = [this](const absl::Status& status) { LogChange(status); }}) {
  writer_.Start();
}

ThrottleLog::Kept ThrottleLog::OpenStore(const ThrottleLogOptions& options,
                                         const throttle_log::Retention& retention, Clock& clock) {
  if (options.settings.postgres.has_value()) {
    const auto dsn = [source = *options.settings.postgres] { return ReadConnectionString(source); };
    const auto note = [before = std::string()](const std::string& text) mutable {
      if (text != std::exchange(before, text) && !text.empty()) {
        LogWarning("the throttle log could be kept better", {{"what", text}});
      }
    };
    return Kept{"postgres", std::make_unique<postgres::PostgresLogStore>(
                                postgres::PostgresLogStoreOptions{.dsn = dsn, .on_note = note},
                                retention, clock)};
  }
  const bool in_memory = options.state_dir.empty();
  const std::string path =
      in_memory ? ":memory:" : absl::StrCat(options.state_dir, "/throttle_log.db");
  auto opened = throttle_log::SqliteStore::OpenAnyway(path, retention, clock.Read().wall());
  if (!opened.set_aside.empty()) {
    LogError("the throttle log was damaged, and begins anew",
             {{"why", std::string(opened.why.message())}, {"set_aside", opened.set_aside}});
  } else if (!opened.why.ok()) {
    LogError("the throttle log cannot be opened; counts wait",
             {{"why", std::string(opened.why.message())}});
  }
  return Kept{in_memory ? "memory" : "sqlite", std::move(opened.store)};
}

void ThrottleLog::LogChange(const absl::Status& status) const {
  if (!status.ok()) {
    LogError("the throttle log cannot be written; counts wait",
             {{"why", std::string(status.message())}});
    return;
  }
  const std::string set_aside = kept_.store->State().set_aside;
  if (set_aside.empty()) {
    LogInfo("the throttle log is written again");
  } else {
    LogInfo("the throttle log is written again", {{"set_aside", set_aside}});
  }
}

void ThrottleLog::Stop() {
  const int64_t dropped = writer_.State().checks_dropped;
  writer_.Stop();
  const throttle_log::WriterState state = writer_.State();
  if (state.checks_dropped == dropped) return;
  LogError("stopped without all of the throttle log: the newest counts are lost",
           {{"checks", absl::StrCat(state.checks_dropped - dropped)},
            {"why", std::string(state.status.message())}});
}

throttle_log::ThrottleLogSnapshot ThrottleLog::Snapshot() const {
  const throttle_log::WriterState writer = writer_.State();
  const throttle_log::StoreState store = kept_.store->State();
  return {.store = kept_.kind,
          .status = writer.status.ok() ? store.status : writer.status,
          .rows_written = writer.rows_written,
          .rows_buffered = writer.rows_buffered,
          .rows_dropped = writer.rows_dropped,
          .dropped_checks = writer.checks_dropped,
          .folded_checks = recorder_.State().folded_checks,
          .bytes = store.bytes,
          .oldest = store.oldest,
          .set_aside = store.set_aside,
          .note = store.note};
}

}  // namespace headgate::app
