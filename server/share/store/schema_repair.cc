#include "server/share/store/schema_repair.h"

#include <algorithm>
#include <pqxx/result>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/share/store/schema.h"

namespace headgate::store {
namespace {

// One that rows are given which have lost their own; null: a row is nothing without it, and the
// table is made anew.
struct Column {
  const char* table;
  const char* name;
  const char* definition = nullptr;
};

// In the order of schema.cc. A state of other bytes would be taken for another debt.
constexpr Column kSchemaColumns[] = {
    {"version", "one"},
    {"version", "version"},
    {"version", "works_with"},
    {"member", "name"},
    {"member", "incarnation", "bigint NOT NULL DEFAULT 0"},
    {"member", "address", "text NOT NULL DEFAULT ''"},
    {"member", "state", "smallint NOT NULL DEFAULT 1"},
    {"member", "round", "bigint NOT NULL DEFAULT 0"},
    {"member", "last_seen", "timestamptz NOT NULL DEFAULT 'epoch'"},
    {"member", "drained", "boolean NOT NULL DEFAULT false"},
    {"member", "asks", "text[]"},
    {"member", "offers", "text[]"},
    {"member", "offers_of", "bigint"},
    {"ownership", "target"},
    {"ownership", "owner", "text COLLATE \"C\" NOT NULL DEFAULT '?'"},
    {"ownership", "incarnation", "bigint NOT NULL DEFAULT 0"},
    {"ownership", "generation", "bigint NOT NULL DEFAULT (extract(epoch FROM now())::bigint)"},
    {"ownership", "renewal", "bigint NOT NULL DEFAULT (extract(epoch FROM now())::bigint)"},
    {"ownership", "expires_at", "timestamptz NOT NULL DEFAULT now()"},
    {"ownership", "preferred", "text COLLATE \"C\" NOT NULL DEFAULT ''"},
    {"ownership", "state_generation", "bigint NOT NULL DEFAULT 0"},
    {"ownership", "state_sequence", "bigint NOT NULL DEFAULT 0"},
    {"state", "target"},
    {"state", "generation"},
    {"state", "sequence"},
    {"state", "is_whole"},
    {"state", "is_final"},
    {"state", "copied_at"},
    {"state", "bytes"},
    {"state", "health", "bytea"},
    {"override_revision", "one"},
    {"override_revision", "revision",
     "bigint NOT NULL DEFAULT (extract(epoch FROM now())::bigint)"},
    {"override_revision", "last_id", "bigint NOT NULL DEFAULT 0"},
    {"override_revision", "last_event", "bigint NOT NULL DEFAULT 0"},
    {"override", "id"},
    {"override", "kind"},
    {"override", "identity"},
    {"override", "segment"},
    {"override", "everything"},
    {"override", "target"},
    {"override", "ratio"},
    {"override", "actor"},
    {"override", "reason"},
    {"override", "created_at_ns"},
    {"override", "expires_at_ns"},
    {"override", "ended"},
    {"override_event", "id"},
    {"override_event", "happened_at_ns", "bigint NOT NULL DEFAULT 0"},
    {"override_event", "kind"},
    {"override_event", "override_id", "bigint NOT NULL DEFAULT 0"},
    {"override_event", "actor", "text NOT NULL DEFAULT ''"},
    {"override_event", "reason", "text NOT NULL DEFAULT ''"},
    {"override_event", "change", "text NOT NULL DEFAULT ''"},
};

// What a server does to each table, as docs/cluster.md grants it.
constexpr char kPrivileges[] = R"sql(
WITH needed (name, privilege) AS (
  VALUES ('version', 'SELECT')
  UNION ALL
  SELECT name, privilege FROM (VALUES ('member'), ('ownership'), ('state'), ('override'),
      ('override_event'), ('override_revision')) AS t (name),
    (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p (privilege)
)
)sql";

std::vector<std::string> Texts(const pqxx::result& rows) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(row[0].as<std::string>());
  return texts;
}

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string TablePart(const std::string& table) {
  return absl::StrCat("table headgate_store.", table);
}
std::string ColumnPart(const Column& column) {
  return absl::StrCat("column headgate_store.", column.table, ".", column.name);
}

std::vector<std::string> TablesThere(pqxx::transaction_base& work) {
  return Texts(
      work.exec("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'headgate_store'"));
}

void AddColumn(pqxx::transaction_base& work, const Column& column) {
  const std::string table = absl::StrCat("headgate_store.", column.table);
  if (column.definition == nullptr) {
    work.exec(absl::StrCat("DROP TABLE IF EXISTS ", table));
    return;
  }
  work.exec(absl::StrCat("ALTER TABLE IF EXISTS ", table, " ADD COLUMN ", column.name, " ",
                         column.definition));
  work.exec(absl::StrCat("ALTER TABLE IF EXISTS ", table, " ALTER COLUMN ", column.name,
                         " DROP DEFAULT"));
}

// Who may write some of the tables: "headgate", quoted, or PUBLIC.
std::vector<std::string> Writers(pqxx::transaction_base& work) {
  return Texts(work.exec(R"sql(
SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'public' ELSE r.rolname END
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL aclexplode(c.relacl) AS a LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
WHERE n.nspname = 'headgate_store' AND c.relkind = 'r' AND a.grantee <> c.relowner
  AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
ORDER BY 1
)sql"));
}

// Whoever does not may grant nothing.
bool OwnsTables(pqxx::transaction_base& work) {
  return work
      .exec1(R"sql(
SELECT coalesce(bool_and(pg_has_role(c.relowner, 'USAGE')), false)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'headgate_store' AND c.relkind = 'r'
)sql")[0]
      .as<bool>();
}

void Grant(pqxx::transaction_base& work, const std::string& role, std::vector<std::string>& done) {
  const std::string to = role == "public" ? "PUBLIC" : work.conn().quote_name(role);
  const auto missing = Texts(work.exec(absl::StrCat(
      kPrivileges, "SELECT privilege || ' on headgate_store.' || c.relname FROM needed",
      " JOIN pg_catalog.pg_class AS c ON c.relname = name",
      " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname ="
      " 'headgate_store' WHERE NOT has_table_privilege(",
      work.quote(role),
      ", c.oid, privilege) UNION ALL SELECT 'USAGE on schema headgate_store' FROM"
      " pg_catalog.pg_namespace WHERE nspname = 'headgate_store' AND NOT"
      " has_schema_privilege(",
      work.quote(role), ", oid, 'USAGE') ORDER BY 1")));
  for (const std::string& privilege : missing) {
    work.exec(absl::StrCat("GRANT ", privilege, " TO ", to));
    done.push_back(absl::StrCat(privilege, " to ", role));
  }
}

}  // namespace

std::vector<std::string> MissingParts(pqxx::transaction_base& work) {
  const std::vector<std::string> tables = TablesThere(work);
  if (tables.empty()) return {};
  const std::vector<std::string> columns = Texts(work.exec(R"sql(
SELECT c.relname || '.' || a.attname
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'headgate_store' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
)sql"));
  std::vector<std::string> missing;
  for (const Column& column : kSchemaColumns) {
    if (!Contains(tables, column.table)) {
      if (!Contains(missing, TablePart(column.table))) missing.push_back(TablePart(column.table));
    } else if (!Contains(columns, absl::StrCat(column.table, ".", column.name))) {
      missing.push_back(ColumnPart(column));
    }
  }
  return missing;
}

std::vector<std::string> MissingPrivileges(pqxx::transaction_base& work) {
  return Texts(work.exec(absl::StrCat(
      kPrivileges, "SELECT privilege || ' on headgate_store.' || c.relname FROM needed",
      " JOIN pg_catalog.pg_class AS c ON c.relname = name",
      " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname ="
      " 'headgate_store' WHERE NOT has_table_privilege(c.oid, privilege)",
      " UNION ALL SELECT 'USAGE on schema headgate_store' FROM pg_catalog.pg_namespace",
      " WHERE nspname = 'headgate_store' AND NOT has_schema_privilege(oid, 'USAGE') ORDER BY 1")));
}

std::vector<std::string> MissingOrders(pqxx::transaction_base& work) {
  std::vector<std::string> lost;
  for (const std::string& part : MissingParts(work)) {
    if (part.starts_with("column headgate_store.override.")) lost.push_back(part);
  }
  return lost;
}

std::vector<std::string> Repair(pqxx::transaction_base& work) {
  const std::vector<std::string> missing = MissingParts(work);
  std::vector<std::string> done = missing;
  // First, as there are indexes on some.
  for (const Column& column : kSchemaColumns) {
    if (Contains(missing, ColumnPart(column))) AddColumn(work, column);
  }
  if (!missing.empty()) {
    Migrate(work, {}, SchemaSteps());
    // Generations never count from the beginning where somebody may have decided.
    work.exec(
        "INSERT INTO headgate_store.ownership (target, owner, incarnation, generation, renewal,"
        " expires_at, preferred, state_generation, state_sequence) SELECT target, '?', 0,"
        " max(generation) + 1, 1, now(), '', 0, 0 FROM headgate_store.state WHERE target <> ''"
        " GROUP BY target ON CONFLICT DO NOTHING");
    work.exec(
        "UPDATE headgate_store.override_revision SET revision = revision + 1, last_id ="
        " greatest(last_id, (SELECT coalesce(max(id), 0) FROM headgate_store.override)),"
        " last_event = greatest(last_event,"
        " (SELECT coalesce(max(id), 0) FROM headgate_store.override_event))");
  }
  if (!OwnsTables(work)) return done;
  for (const std::string& role : Writers(work)) Grant(work, role, done);
  return done;
}

}  // namespace headgate::store
