// What the services ask of the rest of the server, besides the engine. The composition root
// implements it.

#ifndef HEADGATE_SERVER_RPC_SOURCES_H_
#define HEADGATE_SERVER_RPC_SOURCES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/config/load_status.h"
#include "server/health/snapshot.h"

namespace headgate::rpc {

// How the throttle log fares; see ThrottleLogStatus in status_service.proto.
struct ThrottleLogSnapshot {
  std::string store;    // "memory", "sqlite" or "postgres"
  absl::Status status;  // of the newest write
  int64_t rows_written = 0;
  int64_t rows_buffered = 0;
  int64_t rows_dropped = 0;
  int64_t dropped_checks = 0;
  int64_t folded_checks = 0;
  int64_t bytes = 0;
  absl::Time oldest = absl::InfiniteFuture();  // infinite: nothing is kept
  std::string set_aside = {};                  // a damaged file; empty: none
};

// See OverridesStatus in status_service.proto.
struct OverridesSnapshot {
  bool is_kept = false;  // there is a folder to keep them in
  size_t in_force = 0;
  absl::Status status = {};  // of the newest change, or why there can be none
};

// See SnapshotStatus in status_service.proto.
struct SnapshotView {
  std::string path = {};  // empty: there is no folder to keep it in
  absl::Time as_of = absl::InfinitePast();
  int64_t bytes = 0;
  absl::Status status = {};  // of the newest write
  int64_t failed_writes = 0;
  absl::Time restored_from = absl::InfinitePast();  // infinite: nothing was restored
  int64_t restored_permits = 0;
  int64_t restored_buckets = 0;
  absl::Status refused = {};
  std::string set_aside = {};
};

// See TlsStatus in status_service.proto.
struct TlsSnapshot {
  bool is_on = false;
  absl::Time expires_at = {};
  absl::Time loaded_at = {};
  int64_t loads = 0;
  absl::Status status = {};  // of the newest files
};

// See AccessStatus in status_service.proto.
struct AccessSnapshot {
  bool is_on = false;
  std::string token_file = {};  // empty: there is none
  int64_t tokens = 0;
  absl::Status status = {};  // of the newest token file
};

// Thread-safe.
class StatusSource {
 public:
  virtual ~StatusSource() = default;

  virtual absl::Time StartedAt() const = 0;
  virtual config::LoadStatus Config() const = 0;
  virtual std::vector<health::TargetSnapshot> Targets() const = 0;
  virtual ThrottleLogSnapshot ThrottleLog() const = 0;
  virtual OverridesSnapshot Overrides() const = 0;
  virtual SnapshotView Snapshot() const { return {}; }
  virtual TlsSnapshot Tls() const { return {}; }
  virtual AccessSnapshot Access() const { return {}; }
};

// Learns that somebody asks, so that health is measured more often. Called for each Check or batch
// before it is decided, on the serving thread: it must cost nanoseconds. Thread-safe.
class CheckListener {
 public:
  virtual ~CheckListener() = default;

  // `target` as the request has it: empty where it names none. Here nobody is interested.
  virtual void OnCheck(std::string_view /*target*/) {}
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_SOURCES_H_
