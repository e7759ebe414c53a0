#include "server/observe/postgres/log_schema.h"

#include <algorithm>
#include <pqxx/except>
#include <pqxx/result>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "server/observe/postgres/encoding.h"
#include "server/observe/postgres/log_waits.h"

namespace headgate::postgres {
namespace {

constexpr int kVersion = 3;
// Any number: of the lock that headgated holds while it changes the schema.
constexpr char kLock[] = "SELECT pg_advisory_xact_lock(4712650293)";

// Words are those of the configuration and the API, in the order of their enumerators. $0: the
// columns of waits.
constexpr char kSchema[] = R"sql(
COMMENT ON SCHEMA headgate_log IS 'Headgate''s throttle log: who was held back, when, by what';

CREATE TABLE headgate_log.version (version int NOT NULL);

CREATE TABLE headgate_log.whos (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  path text COLLATE "C" NOT NULL, target text COLLATE "C" NOT NULL, folded boolean NOT NULL,
  identity text COLLATE "C" NOT NULL, seen int NOT NULL, server text COLLATE "C" NOT NULL,
  UNIQUE (path, target, folded, server)
);
COMMENT ON TABLE headgate_log.whos IS 'Who was counted; folded: under a level above who asked';
COMMENT ON COLUMN headgate_log.whos.server IS 'which of several decided; or empty';
COMMENT ON COLUMN headgate_log.whos.path IS 'the identity, its root first';
COMMENT ON COLUMN headgate_log.whos.seen IS 'last day it was counted in, since 1970-01-01';

CREATE TABLE headgate_log.whats (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  step_s int NOT NULL, outcome smallint NOT NULL, reason smallint NOT NULL,
  limit_kind smallint NOT NULL, budget text COLLATE "C" NOT NULL, rule text COLLATE "C" NOT NULL,
  signal text COLLATE "C" NOT NULL, seen int NOT NULL,
  UNIQUE (step_s, outcome, reason, limit_kind, budget, rule, signal)
);
COMMENT ON TABLE headgate_log.whats IS 'What became of a Check, and why, by the length of the step';

CREATE TABLE headgate_log.fine (
  at timestamptz NOT NULL, who int NOT NULL, what int NOT NULL, checks bigint NOT NULL,
  cost float8 NOT NULL, peak float8 NOT NULL, threshold float8 NOT NULL, $0,
  PRIMARY KEY (who, at, what)
) PARTITION BY RANGE (at);
COMMENT ON TABLE headgate_log.fine IS 'Counts of Checks, in steps of the length of their whats';
CREATE TABLE headgate_log.coarse (LIKE headgate_log.fine INCLUDING INDEXES)
  PARTITION BY RANGE (at);
COMMENT ON TABLE headgate_log.coarse IS 'As fine, in longer steps';

CREATE TABLE headgate_log.writers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  batch bigint, wrote_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE headgate_log.writers IS 'Which batch each run of headgated wrote last'
)sql";

constexpr char kView[] = R"sql(
CREATE OR REPLACE VIEW headgate_log.log AS
SELECT at, make_interval(secs => step_s) AS step, identity, target, folded,
  (ARRAY['allowed', 'would_be_denied', 'denied', 'waited'])[outcome + 1] AS outcome,
  (ARRAY['none', 'exempt', 'deny_rule', 'reject_ratio', 'health', 'max_cost', 'max_concurrency',
         'capacity', 'permits', 'unmatched', 'line', 'line_full',
         'approximate'])[reason + 1] AS reason,
  (ARRAY['rule', 'health', 'rate', 'burst', 'max_cost', 'max_concurrency',
         'probe', 'permits', 'line', 'line_full', 'approximate'])[limit_kind + 1] AS limit_kind,
  budget, rule, signal, checks, cost, peak, threshold, server,
  began, admitted, denied, gone, make_interval(secs => waited_us / 1e6) AS waited,
  make_interval(secs => held_us / 1e6) AS held, make_interval(secs => longest_us / 1e6) AS longest,
  within_100ms, within_1s, within_10s, within_1min, within_10min, longer
FROM (SELECT * FROM headgate_log.fine UNION ALL SELECT * FROM headgate_log.coarse) AS counts
  JOIN headgate_log.whos ON whos.id = who JOIN headgate_log.whats ON whats.id = what;
COMMENT ON VIEW headgate_log.log IS
  'Checks by time and identity. cost: predicted, cost units; peak: the highest observed, and the threshold it was compared with. Of rows whose outcome is waited, from began on: Checks that began to wait, how their waits ended, and for how long'
)sql";

// Whether the view is of a Headgate that knew fewer words, and this role may replace it. Its
// columns are the same, so that this is no other version of the schema.
constexpr char kViewIsOld[] = R"sql(
SELECT FROM pg_class WHERE oid = to_regclass('headgate_log.log') AND pg_has_role(relowner, 'USAGE')
  AND pg_get_viewdef(oid) NOT LIKE '%''approximate''%')sql";

// From version 1, which knew no servers.
constexpr char kToVersion2[] = R"sql(
ALTER TABLE headgate_log.whos ADD COLUMN server text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE headgate_log.whos DROP CONSTRAINT whos_path_target_folded_key,
  ADD UNIQUE (path, target, folded, server);
COMMENT ON COLUMN headgate_log.whos.server IS 'which of several decided; or empty'
)sql";

// From version 2, which knew no waits. Partitions follow their tables.
constexpr char kToVersion3[] = R"sql(
ALTER TABLE headgate_log.fine $0;
ALTER TABLE headgate_log.coarse $0
)sql";

// The view is replaced by itself, so that who may read it still may.
void Upgrade(pqxx::transaction_base& work, int version) {
  if (version < 2) work.exec(kToVersion2);
  work.exec(absl::Substitute(kToVersion3, WaitColumnsAdded()));
  work.exec(kView);
  work.exec(absl::StrCat("UPDATE headgate_log.version SET version = ", kVersion));
}

// Not by to_regclass(), which may remember from before a lock was taken.
bool Exists(pqxx::transaction_base& work, const std::string& table) {
  const std::string sql = absl::StrCat(
      "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'headgate_log' AND tablename = '",
      table, "')");
  return work.exec1(sql)[0].as<bool>();
}

void RefuseEncoding(pqxx::transaction_base& work) {
  const auto row = work.exec1("SELECT getdatabaseencoding(), current_database()");
  const auto encoding = row[0].as<std::string>();
  if (HoldsAnyText(encoding)) return;
  throw pqxx::failure(absl::StrCat("the throttle log cannot be in database ",
                                   row[1].as<std::string>(), ": ", WhyNotAnyText(encoding)));
}

}  // namespace

void EnsureLogSchema(pqxx::transaction_base& work) {
  work.exec(kLock);
  if (!Exists(work, "version")) {
    // One that an operator made for a role that may not.
    if (work.exec("SELECT FROM pg_namespace WHERE nspname = 'headgate_log'").empty()) {
      work.exec("CREATE SCHEMA headgate_log");
    }
    RefuseEncoding(work);
    work.exec(absl::Substitute(kSchema, WaitColumnTypes()));
    work.exec(kView);
    work.exec(absl::StrCat("INSERT INTO headgate_log.version VALUES (", kVersion, ")"));
    return;
  }
  const int version = work.exec1("SELECT version FROM headgate_log.version")[0].as<int>();
  if (version < kVersion) return Upgrade(work, version);
  if (version != kVersion) {
    throw pqxx::failure(absl::StrCat("the schema headgate_log is of a newer Headgate (version ",
                                     version, "; this one knows ", kVersion, ")"));
  }
}

void RenewLogView(pqxx::transaction_base& work) {
  if (!work.exec(kViewIsOld).empty()) work.exec(kView);
}

std::string LogPartition::Name() const { return absl::StrCat("headgate_log.", table, "_", day); }

// Made apart and attached then, which does not wait for those who read the log.
void EnsureLogPartition(pqxx::transaction_base& work, const LogPartition& partition) {
  const std::string table = absl::StrCat(partition.table, "_", partition.day);
  if (Exists(work, table)) return;
  work.exec(kLock);
  if (Exists(work, table)) return;
  const std::string name = partition.Name();
  const auto bound = [](int64_t day) { return absl::StrCat("to_timestamp(", day * 86'400, ")"); };
  const std::string parent = absl::StrCat("headgate_log.", partition.table);
  // Counts of the newest step are added to again and again: in the room that is left on a page.
  work.exec(absl::StrCat("CREATE TABLE ", name, " (LIKE ", parent,
                         " INCLUDING INDEXES) WITH (fillfactor = 80); ALTER TABLE ", parent,
                         " ATTACH PARTITION ", name, " FOR VALUES FROM (", bound(partition.day),
                         ") TO (", bound(partition.day + 1), ")"));
}

std::vector<LogPartition> ListLogPartitions(pqxx::transaction_base& work) {
  const pqxx::result rows = work.exec(
      "SELECT parent.relname, substring(child.relname FROM '[0-9]+$')::bigint"
      " FROM pg_inherits"
      " JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class child ON child.oid = inhrelid"
      " WHERE inhparent IN (to_regclass('headgate_log.fine'), to_regclass('headgate_log.coarse'))"
      " AND child.relkind = 'r'");
  std::vector<LogPartition> partitions;
  for (const auto& row : rows) {
    partitions.push_back({.table = row[0].as<std::string>(), .day = row[1].as<int64_t>()});
  }
  std::sort(partitions.begin(), partitions.end(), [](const auto& a, const auto& b) {
    return std::tie(a.day, a.table) < std::tie(b.day, b.table);
  });
  return partitions;
}

}  // namespace headgate::postgres
