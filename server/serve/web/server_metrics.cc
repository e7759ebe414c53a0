#include <algorithm>

#include "server/serve/web/metrics.h"

namespace headgate::web {
void AddConfig(const config::LoadStatus& status, Exposition& out) {
  out.Gauge("headgate_config_version",
            "Counts the configurations that were put into force, from 1.")
      .Set({}, status.version);
  out.Gauge("headgate_config_last_load_success",
            "Whether the newest configuration file is in force; 0: it was refused.")
      .Set({}, status.errors.empty() ? 1 : 0);
  auto loaded = out.Gauge("headgate_config_last_success_timestamp_seconds",
                          "When the configuration in force was loaded, since the Unix epoch.");
  if (status.loaded_at != absl::InfinitePast()) loaded.Set({}, UnixSeconds(status.loaded_at));
  out.Gauge("headgate_config_pending_restart",
            "Fields of the configuration whose change waits for a restart.")
      .Set({}, status.pending_restart.size());
}

void AddOverrides(const overrides::OverridesSnapshot& overrides, Exposition& out) {
  auto in_force = out.Gauge("headgate_overrides_in_force",
                            "Overrides in force. Absent without a state folder.");
  auto up = out.Gauge("headgate_overrides_store_up",
                      "Whether overrides can be changed: the newest change was written.");
  auto stops = out.Gauge("headgate_overrides_stops",
                         "Pauses and throttles of everything in force. Absent without a state "
                         "folder.");
  if (!overrides.is_kept) return;
  in_force.Set({}, overrides.in_force);
  stops.Set({}, overrides.stops.size());
  up.Set({}, overrides.status.ok() ? 1 : 0);
}

void AddThrottleLog(const throttle_log::ThrottleLogSnapshot& log,
                    const throttle_log::RecorderState& recorder, Exposition& out) {
  const auto gauge = [&](std::string_view name, std::string_view help, int64_t value) {
    out.Gauge(name, help).Set({}, value);
  };
  const auto counter = [&](std::string_view name, std::string_view help, int64_t value) {
    out.Counter(name, help).Set({}, value);
  };
  out.Gauge("headgate_throttle_log_up", "Whether the newest write of the throttle log succeeded.")
      .Set({{"store", log.store}}, log.status.ok() ? 1 : 0);
  counter("headgate_throttle_log_rows_written_total", "Rows of the throttle log that were written.",
          log.rows_written);
  gauge("headgate_throttle_log_rows_buffered", "Rows of the throttle log that wait to be written.",
        log.rows_buffered);
  counter("headgate_throttle_log_rows_dropped_total",
          "Rows of the throttle log that were dropped, because too many waited.", log.rows_dropped);
  counter("headgate_throttle_log_checks_dropped_total", "Checks that the dropped rows counted.",
          log.dropped_checks);
  counter(
      "headgate_throttle_log_checks_folded_total",
      "Checks that were counted under a level above their identity, because there were too many "
      "identities at once.",
      log.folded_checks);
  gauge("headgate_throttle_log_bytes", "Size of the throttle log's store.", log.bytes);
  gauge("headgate_throttle_log_slots", "Identities that can be counted by name at once.",
        recorder.slots);
  gauge("headgate_throttle_log_slots_used", "Slots for identities that were ever used.",
        recorder.slots_used);
}

void AddSnapshot(const snapshot::SnapshotView& snapshot, absl::Time now, Exposition& out) {
  auto age = out.Gauge("headgate_snapshot_age_seconds",
                       "Age of what the snapshot holds. Absent without a state folder.");
  auto bytes = out.Gauge("headgate_snapshot_bytes", "Size of the snapshot.");
  auto failures =
      out.Counter("headgate_snapshot_write_failures_total", "Writes of the snapshot that failed.");
  if (snapshot.path.empty()) return;
  if (snapshot.as_of != absl::InfinitePast()) {
    // It was taken after `now`, by a moment, where a round has just ended.
    age.Set({}, std::max(absl::ToDoubleSeconds(now - snapshot.as_of), 0.0));
  }
  bytes.Set({}, snapshot.bytes);
  failures.Set({}, snapshot.failed_writes);
}

void AddBuild(std::string_view version, Exposition& out) {
  out.Gauge("headgate_build_info", "1, with the version of the server as a label.")
      .Set({{"version", version}}, 1);
}

}  // namespace headgate::web
