// What the agent asks PostgreSQL, 14 to 18.
#pragma once

namespace headgate::agent {

// $1: roles of batch work, $2: patterns of its application names. One row for each batch session;
// the number behind `holds` is
// Work's (work_times.h), and `waiting` is the same in all of them.
inline constexpr char kLookSql[] = R"sql(
SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint, coalesce(leader_pid, 0), holds,
       CASE WHEN state IS DISTINCT FROM 'active' OR wait_event_type = 'Client' THEN 0
            WHEN wait_event_type IS NULL THEN 1
            WHEN wait_event_type = 'IO' OR wait_event = 'WALWrite' THEN 2
            WHEN wait_event_type = 'Lock' THEN 3
            WHEN wait_event = 'SyncRep' THEN 4
            ELSE 5 END, waiting
FROM (
  SELECT a.pid, a.backend_start, a.leader_pid, a.state, a.wait_event_type, a.wait_event, s.is_batch,
         a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL AS holds,
         count(*) FILTER (WHERE NOT s.is_batch AND a.wait_event_type = 'Lock') OVER () AS waiting
  FROM pg_stat_activity AS a LEFT JOIN pg_roles AS r ON r.oid = a.usesysid,
       LATERAL (SELECT coalesce(
         a.backend_type IN ('client backend', 'parallel worker') AND NOT r.rolsuper
         AND a.pid <> pg_backend_pid() AND a.application_name NOT IN ('headgate', 'headgate agent')
         AND (r.rolname = ANY ($1::text[]) OR a.application_name LIKE ANY ($2::text[])), false)
         AS is_batch) AS s) AS sessions
WHERE is_batch)sql";

// Autovacuum gives way by itself, so that nobody has to be raised for it.
inline constexpr char kWaitsSql[] = R"sql(
SELECT w.pid, array_to_string(pg_blocking_pids(w.pid), ' ')
FROM (SELECT DISTINCT l.pid, min(l.waitstart) OVER (PARTITION BY l.pid) AS since
      FROM pg_locks AS l
      WHERE NOT l.granted AND l.waitstart < clock_timestamp() - interval '20 ms') AS w
  JOIN pg_stat_activity AS a ON a.pid = w.pid
WHERE a.backend_type <> 'autovacuum worker'
ORDER BY w.since LIMIT 64)sql";

// $1: processes.
inline constexpr char kNamesSql[] = R"sql(
SELECT pid, coalesce(usename, ''), coalesce(application_name, '')
FROM pg_stat_activity WHERE pid = ANY ($1::int[]))sql";

// Without pg_read_all_stats, or more, neither the kind nor the state of other sessions is seen.
inline constexpr char kRoleSql[] = R"sql(
SELECT current_setting('server_version'), current_user,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), pg_backend_pid())sql";

// $1: milliseconds. The rows are made one by one and none is kept; it ends by itself, without an
// error in the server's log.
inline constexpr char kSpinSql[] = R"sql(
SELECT 1 FROM (SELECT generate_series(1, 2000000000)) AS spin
WHERE clock_timestamp() > statement_timestamp() + $1::int * interval '1 ms' LIMIT 1)sql";

}  // namespace headgate::agent
