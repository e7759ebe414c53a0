#include "server/observe/postgres/signal_sql.h"

namespace headgate::postgres {
namespace {

// pg_has_role asks for USAGE: a member that does not inherit sees as little as others do. This one
// and kLoad look for load_per_core's function where the role's search_path has it; whatever else
// they name is PostgreSQL's own.
constexpr std::string_view kServer = R"sql(
SELECT pg_catalog.pg_is_in_recovery(),
       pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'),
       pg_catalog.quote_ident(current_user),
       extract(epoch FROM pg_catalog.pg_postmaster_start_time()),
       extract(epoch FROM pg_catalog.clock_timestamp()),
       pg_catalog.to_regprocedure('headgate_load_per_core()') IS NOT NULL,
       pg_catalog.pg_backend_pid())sql";

// One session that reads from disk is no pressure: io_wait_fraction counts at least four. Some
// waits for I/O are of other types; PostgreSQL 17 renamed BufferIO to BufferIo, and 18 added the
// last one.
constexpr std::string_view kActivity = R"sql(
SELECT active,
       clients::float8 / greatest(1, current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0)),
       lock_waiters,
       oldest_transaction,
       io_waiters::float8 / greatest(active, 4)
FROM (SELECT count(*) AS clients,
             count(*) FILTER (WHERE others AND state = 'active') AS active,
             count(*) FILTER (WHERE others AND wait_event_type = 'Lock') AS lock_waiters,
             coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)
               FILTER (WHERE others)), 0) AS oldest_transaction,
             count(*) FILTER (WHERE others AND state = 'active' AND (wait_event_type = 'IO'
               OR wait_event IN ('WALWrite', 'BufferIO', 'BufferIo', 'BufferContent',
                                 'AioUringCompletion'))) AS io_waiters
      FROM (SELECT *, pid <> pg_backend_pid() AS others FROM pg_stat_activity
            WHERE backend_type = 'client backend') AS s) AS a)sql";

constexpr std::string_view kLocks = R"sql(
SELECT coalesce(extract(epoch FROM max(clock_timestamp() - waitstart)), 0)
FROM pg_locks WHERE NOT granted)sql";

constexpr std::string_view kReplication = R"sql(
SELECT pg_wal_lsn_diff(p.written, '0/0'), r.application_name, r.state,
       pg_wal_lsn_diff(r.replay_lsn, '0/0'), extract(epoch FROM r.replay_lag),
       host(r.client_addr), s.slot_name
FROM (SELECT pg_current_wal_lsn() AS written) AS p
LEFT JOIN pg_stat_replication AS r ON r.state <> 'backup'
LEFT JOIN pg_replication_slots AS s ON s.active_pid = r.pid
ORDER BY r.backend_start, r.pid)sql";

constexpr std::string_view kSlots = R"sql(
SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0)
FROM pg_replication_slots WHERE wal_status IS DISTINCT FROM 'lost')sql";

// Senders are backends too, and hold what their standbys' feedback says.
constexpr std::string_view kXmin = R"sql(
SELECT coalesce(max(a), 0) FROM (
  SELECT greatest(age(backend_xid), age(backend_xmin)) AS a FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()
  UNION ALL SELECT greatest(age(xmin), age(catalog_xmin)) FROM pg_replication_slots
  UNION ALL SELECT age(transaction) FROM pg_prepared_xacts) AS ages)sql";

constexpr std::string_view kWraparound = R"sql(
SELECT greatest(
  max(age(datfrozenxid))::float8 / current_setting('autovacuum_freeze_max_age')::float8,
  max(mxid_age(datminmxid))::float8
    / current_setting('autovacuum_multixact_freeze_max_age')::float8)
FROM pg_database)sql";

constexpr std::string_view kWal = R"sql(
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'),
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int)sql";

constexpr std::string_view kCheckpoints = R"sql(
SELECT checkpoints_req, checkpoints_timed, buffers_backend_fsync FROM pg_stat_bgwriter)sql";

constexpr std::string_view kCheckpoints17 = R"sql(
SELECT num_requested, num_timed,
       (SELECT coalesce(sum(fsyncs), 0) FROM pg_stat_io
        WHERE backend_type = 'client backend' AND object = 'relation')
FROM pg_stat_checkpointer)sql";

constexpr std::string_view kDatabases = R"sql(
SELECT sum(deadlocks), sum(xact_rollback), sum(temp_bytes) FROM pg_stat_database)sql";

// Tables of this database, by the threshold that autovacuum itself would take. Storage parameters
// of the table win over settings, and one that switches autovacuum off has none. The maximum came
// with PostgreSQL 18; -1 is none.
constexpr std::string_view kAutovacuum = R"sql(
SELECT coalesce(max(dead / greatest(1, least(
         coalesce(own_threshold, current_setting('autovacuum_vacuum_threshold')::float8)
         + coalesce(own_scale, current_setting('autovacuum_vacuum_scale_factor')::float8)
           * greatest(rows, 0),
         nullif(coalesce(own_maximum,
                         current_setting('autovacuum_vacuum_max_threshold', true)::float8), -1)))), 0)
FROM (SELECT pg_stat_get_dead_tuples(c.oid)::float8 AS dead, c.reltuples::float8 AS rows,
             max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_threshold')
               ::float8 AS own_threshold,
             max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_scale_factor')
               ::float8 AS own_scale,
             max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_max_threshold')
               ::float8 AS own_maximum,
             bool_and(o.option_value::bool) FILTER (WHERE o.option_name = 'autovacuum_enabled')
               AS own_enabled
      FROM pg_class AS c LEFT JOIN pg_options_to_table(c.reloptions) AS o ON true
      WHERE c.relkind IN ('r', 'm', 't') AND pg_stat_get_dead_tuples(c.oid) > 0
      GROUP BY c.oid) AS tables
WHERE own_enabled IS NOT FALSE)sql";

constexpr std::string_view kLoad = "SELECT headgate_load_per_core()";

constexpr std::string_view kStandby = R"sql(
SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'),
       coalesce(pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn(), false),
       extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()),
       pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'),
       (SELECT received_tli FROM pg_stat_wal_receiver WHERE status = 'streaming'))sql";

constexpr std::string_view kSystem = "SELECT system_identifier FROM pg_control_system()";

using Kind = SignalSource::Kind;

// Rare events are counted over longer: one deadlock in ten seconds is .1 a second, where over one
// poll it would be 2. Statistics arrive up to a second late, and temporary files when they are
// deleted, all of their bytes at once.
constexpr absl::Duration kRare = absl::Seconds(10);
constexpr absl::Duration kCheckpointWindow = absl::Minutes(15);

constexpr SignalSource kSources[] = {
    {"replication_lag_seconds", Query::kReplication, Kind::kReplayedSeconds},
    {"replication_lag_bytes", Query::kReplication, Kind::kReplayedBytes},
    {"standby_lag_seconds", Query::kStandby, Kind::kStandbySeconds},
    {"slot_retained_bytes", Query::kSlots},
    {"active_backends", Query::kActivity, Kind::kValue, 0},
    {"connection_fraction", Query::kActivity, Kind::kValue, 1},
    {"lock_waiters", Query::kActivity, Kind::kValue, 2},
    {"oldest_transaction_seconds", Query::kActivity, Kind::kValue, 3},
    {"io_wait_fraction", Query::kActivity, Kind::kValue, 4},
    {"lock_wait_max_seconds", Query::kLocks},
    {"xmin_age", Query::kXmin},
    {"wraparound_fraction", Query::kWraparound},
    {"wal_bytes_per_second", Query::kWal, Kind::kPerSecond, 0, absl::Seconds(1)},
    {"requested_checkpoint_fraction", Query::kCheckpoints, Kind::kShareOfGrowth, 0,
     kCheckpointWindow},
    {"backend_fsyncs_per_second", Query::kCheckpoints, Kind::kPerSecond, 2, kRare},
    {"deadlocks_per_second", Query::kDatabases, Kind::kPerSecond, 0, kRare},
    {"rollbacks_per_second", Query::kDatabases, Kind::kPerSecond, 1, kRare},
    {"temp_bytes_per_second", Query::kDatabases, Kind::kPerSecond, 2, kRare},
    {"autovacuum_backlog", Query::kAutovacuum},
    {"load_per_core", Query::kLoad},
};

struct NamedSql {
  std::string_view name;
  std::string_view sql;
};

constexpr NamedSql kSql[kQueries] = {
    {"server", kServer},
    {"activity", kActivity},
    {"locks", kLocks},
    {"replication", kReplication},
    {"slots", kSlots},
    {"xmin", kXmin},
    {"wraparound", kWraparound},
    {"wal", kWal},
    {"checkpoints", kCheckpoints},
    {"databases", kDatabases},
    {"autovacuum", kAutovacuum},
    {"load", kLoad},
    {"standby", kStandby},
    {"system", kSystem},
};

}  // namespace

std::string_view SqlOf(Query query, int server_version) {
  if (query == Query::kCheckpoints && server_version >= 170000) return kCheckpoints17;
  return kSql[static_cast<size_t>(query)].sql;
}

bool UsesNamesOfRole(Query query) { return query == Query::kServer || query == Query::kLoad; }

std::string_view NameOf(Query query) { return kSql[static_cast<size_t>(query)].name; }

absl::Span<const SignalSource> AllSources() { return kSources; }

const SignalSource* FindSource(std::string_view signal) {
  for (const SignalSource& source : kSources) {
    if (source.signal == signal) return &source;
  }
  return nullptr;
}

}  // namespace headgate::postgres
