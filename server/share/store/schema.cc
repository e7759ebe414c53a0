#include "server/share/store/schema.h"

#include <pqxx/result>

#include "absl/strings/str_cat.h"

namespace headgate::store {
namespace {

constexpr char kVersionTable[] = R"sql(
CREATE TABLE IF NOT EXISTS headgate_store.version (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version int NOT NULL,
  works_with int NOT NULL
);
COMMENT ON SCHEMA headgate_store IS 'What several servers of Headgate agree through';
COMMENT ON TABLE headgate_store.version IS 'Of these tables; made by headgate store'
)sql";

constexpr char kFirst[] = R"sql(
CREATE TABLE IF NOT EXISTS headgate_store.member (
  name text COLLATE "C" PRIMARY KEY,
  incarnation bigint NOT NULL,
  address text NOT NULL,
  state smallint NOT NULL,
  round bigint NOT NULL,
  last_seen timestamptz NOT NULL,
  drained boolean NOT NULL,
  asks text[]
);
COMMENT ON TABLE headgate_store.member IS 'Servers, and when each was here last';
COMMENT ON COLUMN headgate_store.member.incarnation IS 'which process has the name';
COMMENT ON COLUMN headgate_store.member.state IS '1 serving, 2 leaving';
COMMENT ON COLUMN headgate_store.member.drained IS 'by an operator: it is to own nothing';
COMMENT ON COLUMN headgate_store.member.asks IS
  'who alone may take what it owns, as it may decide on without this store; null: anybody';

CREATE TABLE IF NOT EXISTS headgate_store.ownership (
  target text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  incarnation bigint NOT NULL,
  generation bigint NOT NULL,
  renewal bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  preferred text COLLATE "C" NOT NULL,
  state_generation bigint NOT NULL,
  state_sequence bigint NOT NULL
);
COMMENT ON TABLE headgate_store.ownership IS 'Which server decides for a target, and until when';
COMMENT ON COLUMN headgate_store.ownership.owner IS 'empty: nobody';
COMMENT ON COLUMN headgate_store.ownership.incarnation IS 'which process of that name; or 0';
COMMENT ON COLUMN headgate_store.ownership.generation IS 'counts owners, and never goes back';
COMMENT ON COLUMN headgate_store.ownership.renewal IS 'counts changes of owner and lease';
COMMENT ON COLUMN headgate_store.ownership.preferred IS 'where an operator wants it; or empty';
COMMENT ON COLUMN headgate_store.ownership.state_sequence IS 'the newest row of its state';

CREATE TABLE IF NOT EXISTS headgate_store.state (
  target text COLLATE "C",
  generation bigint,
  sequence bigint,
  is_whole boolean NOT NULL,
  is_final boolean NOT NULL,
  copied_at timestamptz NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (target, generation, sequence)
);
COMMENT ON TABLE headgate_store.state IS
  'What the owner of a target knows: a whole, and the changes since';

CREATE TABLE IF NOT EXISTS headgate_store.override_revision (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  revision bigint NOT NULL,
  last_id bigint NOT NULL,
  last_event bigint NOT NULL
);
INSERT INTO headgate_store.override_revision (revision, last_id, last_event) VALUES (0, 0, 0)
  ON CONFLICT (one) DO NOTHING;
COMMENT ON TABLE headgate_store.override_revision IS 'Counts changes of the overrides in force';

CREATE TABLE IF NOT EXISTS headgate_store.override (
  id bigint PRIMARY KEY,
  kind smallint NOT NULL,
  identity text NOT NULL,
  segment text NOT NULL,
  everything boolean NOT NULL,
  target text NOT NULL,
  ratio double precision NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  created_at_ns bigint NOT NULL,
  expires_at_ns bigint,
  ended boolean NOT NULL
);
CREATE INDEX IF NOT EXISTS override_open ON headgate_store.override (id) WHERE NOT ended;
COMMENT ON TABLE headgate_store.override IS 'What operators have ordered';
COMMENT ON COLUMN headgate_store.override.kind IS '1 pause, 2 throttle, 3 exempt, 4 resume';
COMMENT ON COLUMN headgate_store.override.expires_at_ns IS 'null: never';

CREATE TABLE IF NOT EXISTS headgate_store.override_event (
  id bigint PRIMARY KEY,
  happened_at_ns bigint NOT NULL,
  kind smallint NOT NULL,
  override_id bigint NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  change text NOT NULL
);
CREATE INDEX IF NOT EXISTS override_event_of ON headgate_store.override_event (override_id, id);
COMMENT ON TABLE headgate_store.override_event IS 'Who ordered what, and when it ended';
COMMENT ON COLUMN headgate_store.override_event.kind IS
  '1 created, 2 deleted, 3 expired, 4 costs forgotten, 5 debt forgiven, 6 servers changed';
COMMENT ON COLUMN headgate_store.override_event.override_id IS '0: it concerns none'
)sql";

// Columns that earlier releases neither write nor read: their servers may go on beside newer ones.
constexpr char kWithOffers[] = R"sql(
ALTER TABLE headgate_store.member ADD COLUMN IF NOT EXISTS offers text[];
ALTER TABLE headgate_store.member ADD COLUMN IF NOT EXISTS offers_of bigint;
COMMENT ON COLUMN headgate_store.member.offers IS
  'targets that it has: hash of their configuration, how it measures them (0 untried, 1 not, 2 in part, 3 all), s: keeps their states';
COMMENT ON COLUMN headgate_store.member.offers_of IS 'the process that wrote offers';
ALTER TABLE headgate_store.state ADD COLUMN IF NOT EXISTS health bytea;
COMMENT ON COLUMN headgate_store.state.health IS 'the owner''s newest sample of the target'
)sql";

constexpr char kReadVersion[] = "SELECT version, works_with FROM headgate_store.version";

bool HasTable(pqxx::transaction_base& work, const std::string& table) {
  const std::string sql = absl::StrCat(
      "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname ="
      " 'headgate_store' AND tablename = ",
      work.quote(table), ")");
  return work.exec1(sql)[0].as<bool>();
}

}  // namespace

SchemaVersion ReadSchemaVersion(pqxx::transaction_base& work) {
  if (!HasTable(work, "version")) return {};
  const pqxx::result rows = work.exec(kReadVersion);
  if (rows.empty()) return {};
  return {.version = rows[0][0].as<int>(), .works_with = rows[0][1].as<int>()};
}

absl::Status CheckSchemaVersion(const SchemaVersion& schema, int known) {
  if (schema.version == 0) {
    return absl::FailedPreconditionError("the store has no tables yet: run headgate store init");
  }
  if (schema.version < known) {
    return absl::FailedPreconditionError(absl::StrCat("the store's tables are of version ",
                                                      schema.version, ", and this Headgate needs ",
                                                      known, ": run headgate store upgrade"));
  }
  if (schema.works_with > known) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store's tables are of version ", schema.version,
                     ", for a newer Headgate: this one knows version ", known));
  }
  return absl::OkStatus();
}

const std::vector<SchemaStep>& SchemaSteps() {
  static const auto* const steps = new std::vector<SchemaStep>{
      {.sql = kFirst, .works_with = 1}, {.sql = kWithOffers, .works_with = 1}};
  return *steps;
}

void Migrate(pqxx::transaction_base& work, const SchemaVersion& schema,
             absl::Span<const SchemaStep> steps) {
  // CREATE SCHEMA IF NOT EXISTS would ask for a privilege that the schema's owner need not have.
  if (work.exec("SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'headgate_store'").empty()) {
    work.exec("CREATE SCHEMA headgate_store");
  }
  work.exec(kVersionTable);
  const int newest = static_cast<int>(steps.size());
  for (int version = schema.version; version < newest; ++version) work.exec(steps[version].sql);
  work.exec(absl::StrCat("INSERT INTO headgate_store.version (version, works_with) VALUES (",
                         newest, ", ", steps.back().works_with,
                         ") ON CONFLICT (one) DO UPDATE SET version = excluded.version,"
                         " works_with = excluded.works_with"));
}

}  // namespace headgate::store
