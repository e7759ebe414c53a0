// What a configuration file says, validated, in the terms of the rooms that use it.
//
// Immutable once loaded. Loading: see load.h.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/engine.h"
#include "server/decide/engine/spec.h"
#include "server/govern/access/access_spec.h"
#include "server/govern/config/identity_names.h"
#include "server/observe/health/profile.h"

namespace headgate::config {

// Queues of calls, each with two threads: more would only be in each other's way.
inline constexpr int kMaxThreads = 64;

// More than most systems let a process have open files.
inline constexpr int kMaxConnections = 1 << 20;

// Checks that wait in the server for their turn.
struct LineSettings {
  int64_t max_waiting = int64_t{1} << 16;  // 0: nobody waits
  double max_waiting_share = 0.5;          // of it, what one caller may have
  double priority_floor = 0.05;            // share of the admitted cost that each priority gets

  friend bool operator==(const LineSettings&, const LineSettings&) = default;
};

struct ServerSettings {
  std::string grpc_address = "127.0.0.1:8081";
  bool reflection = true;
  int64_t max_message_bytes = int64_t{4} << 20;
  int threads = 1;        // at most kMaxThreads
  std::string state_dir;  // empty: nothing outlives the process
  int max_connections = 4096;
  absl::Duration max_connection_age = absl::Minutes(30);
  LineSettings line;

  friend bool operator==(const ServerSettings&, const ServerSettings&) = default;
};

enum class ClientCertificates { kNone, kOptional, kRequired };

// Files in PEM, whose content is read by server/govern/tls.
struct TlsSettings {
  std::string certificate_file;
  std::string key_file;
  std::string client_ca_file;  // empty: kNone
  ClientCertificates client_certificates = ClientCertificates::kNone;

  friend bool operator==(const TlsSettings&, const TlsSettings&) = default;
};

// Where a connection string comes from: exactly one of the first three is set. Files and the
// environment are read at each connect, so that a changed secret needs no restart.
struct PostgresSource {
  std::string dsn;
  std::string dsn_file;
  std::string dsn_env;
  std::string password_file;  // with dsn

  friend bool operator==(const PostgresSource&, const PostgresSource&) = default;
};

struct TargetSettings {
  std::string name;
  std::optional<PostgresSource> primary;  // absent: nothing is measured
  std::vector<health::StandbySpec> standbys;
  std::vector<std::optional<PostgresSource>> standby_sources;  // one for each standby
  health::PollingSpec polling;
  health::BatchWorkSpec batch_work;
  // A hash of all in the file that decides what becomes of a Check of this target, connections left
  // out: two servers with the same one decide alike.
  uint64_t fingerprint = 0;
};

// The controller of one budget with `rate: auto`.
struct AutoBudget {
  std::string budget;
  double tolerance = 0.05;          // share of its throughput that the foreground may lose
  double latency_tolerance = 0.10;  // by which its statements may take longer on average
  double tail_tolerance = 0.25;     // by which their standard deviation may grow
  double weight = 1;                // of its share, among those of its target
  std::optional<double> max_rate;   // busy seconds a second
  std::optional<int> cores;         // of the database server
};

struct ThrottleLogSettings {
  absl::Duration step = absl::Seconds(10);
  absl::Duration coarse_step = absl::Minutes(5);  // of what is older than coarsen_after
  absl::Duration coarsen_after = absl::Hours(24);
  absl::Duration retention = absl::Hours(24 * 30);
  int64_t max_bytes = int64_t{1} << 30;
  int64_t max_identities = int64_t{1} << 14;
  int64_t max_buffered_rows = 200'000;
  int64_t recent_denials = 4096;
  std::optional<PostgresSource> postgres;  // absent: a file in state_dir

  friend bool operator==(const ThrottleLogSettings&, const ThrottleLogSettings&) = default;
};

enum class OnStoreLoss : uint8_t { kStop, kKeep, kApproximate };

// Several servers that share the targets.
struct ClusterSettings {
  PostgresSource store;
  std::string secret_file;
  std::vector<std::string> peer_certificates;  // "DNS:..." or "URI:..."
  absl::Duration lease = absl::Seconds(3);
  OnStoreLoss on_store_loss = OnStoreLoss::kStop;

  friend bool operator==(const ClusterSettings&, const ClusterSettings&) = default;
};

struct Config {
  ServerSettings server;
  engine::EngineOptions engine;  // without the seed
  // `policy.profiles[i]` is `profiles[i]`, its signals being the instances on all targets.
  engine::PolicySpec policy;
  std::vector<health::ProfileSpec> profiles;
  std::vector<TargetSettings> targets;  // policy.targets[i] is targets[i]
  std::vector<AutoBudget> auto_budgets;
  ThrottleLogSettings throttle_log;
  std::optional<TlsSettings> tls;            // absent: plaintext
  std::optional<access::PolicySpec> access;  // absent: everybody may do everything
  std::optional<ClusterSettings> cluster;    // absent: this server decides for all targets
  std::shared_ptr<const IdentityNames> identity_names;  // of the rules; null: as with none
  std::string text;                                     // that it was read from
};

}  // namespace headgate::config
