#include "server/postgres/postgres_probe.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace headgate::postgres {
namespace {

constexpr std::string_view kNoLoadFunction =
    "the function headgate_load_per_core() is missing: server/postgres/setup.sql creates it";

std::optional<std::string> StandbyName(const PostgresProbeOptions& options) {
  if (options.role == ServerRole::kPrimary) return std::nullopt;
  return options.server;
}

// The statements of one poll, and which of them answers which query.
class PollPlan {
 public:
  static constexpr size_t kNone = ~size_t{0};

  size_t Add(Statement statement) {
    statements_.push_back(std::move(statement));
    return statements_.size() - 1;
  }

  // Once for all signals that read it.
  template <typename Make>
  size_t AddOnce(Query query, Make make) {
    std::optional<size_t>& at = built_in_[static_cast<size_t>(query)];
    if (!at.has_value()) at = Add(make(query));
    return *at;
  }

  absl::Span<const Statement> statements() const { return statements_; }

 private:
  std::vector<Statement> statements_;
  std::array<std::optional<size_t>, kQueries> built_in_;
};

}  // namespace

PostgresProbe::PostgresProbe(PostgresProbeOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      reader_(StandbyName(options_)),
      sampler_(options_.batch_work) {}

PostgresProbe::~PostgresProbe() = default;

absl::StatusOr<std::vector<health::Reading>> PostgresProbe::Poll(
    absl::Span<const health::SignalQuery> queries) {
  const Deadline deadline(clock_, options_.timeout);
  absl::StatusOr<std::vector<health::Reading>> readings = PollOnce(queries, deadline);
  if (!readings.ok()) pipeline_.Close();
  return readings;
}

absl::StatusOr<health::WorkCounters> PostgresProbe::SampleWork(health::StatementsWish wish) {
  const Deadline deadline(clock_, options_.timeout);
  absl::StatusOr<health::WorkCounters> work = SampleOnce(wish, deadline);
  if (!work.ok()) pipeline_.Close();
  return work;
}

absl::Status PostgresProbe::EnsureOpen(const Deadline& deadline) {
  if (pipeline_.is_open()) return absl::OkStatus();
  absl::StatusOr<std::string> dsn = options_.dsn();
  if (!dsn.ok()) return dsn.status();
  absl::Status status = pipeline_.Open(*dsn, options_.timeout, deadline);
  if (!status.ok()) return status;
  const Statement server = BuiltIn(Query::kServer);
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> tables = Run({&server, 1}, deadline);
  return tables.ok() ? ReadServer(tables->front()) : tables.status();
}

Statement PostgresProbe::BuiltIn(Query query) const {
  return {.label = std::string(NameOf(query)),
          .sql = std::string(SqlOf(query, pipeline_.server_version())),
          .name = std::string(NameOf(query))};
}

absl::StatusOr<std::vector<absl::StatusOr<Table>>> PostgresProbe::Run(
    absl::Span<const Statement> statements, const Deadline& deadline) {
  auto tables = pipeline_.Run(statements, deadline);
  for (size_t i = 0; tables.ok() && i < tables->size(); ++i) {
    if (!(*tables)[i].ok()) reader_.CountOwnRollback();
  }
  return tables;
}

absl::Status PostgresProbe::ReadServer(const absl::StatusOr<Table>& table) {
  if (!table.ok()) return table.status();
  if (table->empty()) return absl::InternalError("the server says nothing of itself");
  const std::vector<std::optional<std::string>>& row = table->front();
  const bool in_recovery = row[kServerInRecovery] == "t";
  if (in_recovery != (options_.role == ServerRole::kStandby)) {
    return absl::FailedPreconditionError(
        in_recovery ? "the server is a standby, where the primary is expected"
                    : "the server is a primary, where a standby is expected");
  }
  if (row[kServerMonitor] != "t") {
    // From 16 on it is the grant that says whether the role inherits, and granting it once more
    // leaves that as it is.
    const bool grant_inherits = pipeline_.server_version() >= 160000;
    return absl::FailedPreconditionError(absl::StrCat(
        "the role may not see statistics of other sessions, and would read 0: GRANT pg_monitor TO ",
        row[kServerRole].value_or("it"), grant_inherits ? " WITH INHERIT TRUE" : ""));
  }
  double now = 0;
  if (!absl::SimpleAtod(row[kServerNow].value_or(""), &now)) {
    return absl::InternalError("the server's time is no number");
  }
  reader_.BeginPoll(now, row[kServerStartedAt].value_or(""));
  has_load_function_ = row[kServerHasLoad] == "t";
  return absl::OkStatus();
}

absl::StatusOr<std::vector<health::Reading>> PostgresProbe::PollOnce(
    absl::Span<const health::SignalQuery> queries, const Deadline& deadline) {
  auto readings = PollBuiltIn(queries, deadline);
  if (!readings.ok()) return readings;
  // Last, since they may take long.
  for (const health::SignalQuery& query : queries) {
    if (query.sql.empty()) continue;
    absl::StatusOr<absl::StatusOr<Table>> table = AskCustom(query, deadline);
    if (!table.ok()) return table.status();
    reader_.Read(query, *table, *readings);
  }
  return readings;
}

absl::StatusOr<absl::StatusOr<Table>> PostgresProbe::AskCustom(const health::SignalQuery& query,
                                                               const Deadline& deadline) {
  const Statement statement = {.label = absl::StrCat("signal ", query.signal), .sql = query.sql};
  for (;;) {  // a session that is lost once is replaced, the second time the query is not asked
    const int64_t now_ns = clock_.Read().monotonic_ns;
    if (absl::Status why = quarantine_.Check(query.sql, now_ns); !why.ok()) {
      return absl::StatusOr<Table>(std::move(why));
    }
    if (absl::Status status = EnsureOpen(deadline); !status.ok()) return status;
    auto tables = Run({&statement, 1}, deadline);
    if (tables.ok()) {
      quarantine_.NoteKept(query.sql);
      return std::move(tables->front());
    }
    if (absl::IsFailedPrecondition(tables.status())) {
      quarantine_.NoteSpoilt(query.sql, tables.status(), now_ns);
    } else if (absl::IsUnavailable(tables.status())) {
      quarantine_.NoteLost(query.sql, tables.status(), now_ns);
    } else {
      return tables.status();
    }
  }
}

absl::StatusOr<std::vector<health::Reading>> PostgresProbe::PollBuiltIn(
    absl::Span<const health::SignalQuery> queries, const Deadline& deadline) {
  if (absl::Status status = EnsureOpen(deadline); !status.ok()) return status;
  const auto built_in = [this](Query query) { return BuiltIn(query); };
  PollPlan plan;
  plan.AddOnce(Query::kServer, built_in);
  std::vector<size_t> statement_of(queries.size(), PollPlan::kNone);
  for (size_t i = 0; i < queries.size(); ++i) {
    const SignalSource* source = FindSource(queries[i].signal);
    if (!queries[i].sql.empty() || source == nullptr) continue;
    if (source->query == Query::kLoad && !has_load_function_) continue;
    statement_of[i] = plan.AddOnce(source->query, built_in);
  }
  auto tables = Run(plan.statements(), deadline);
  if (!tables.ok()) return tables.status();
  if (absl::Status status = ReadServer(tables->front()); !status.ok()) return status;
  std::vector<health::Reading> readings;
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries[i].sql.empty()) continue;
    absl::StatusOr<Table> missing = absl::NotFoundError("there is no such signal");
    if (queries[i].signal == "load_per_core") missing = absl::NotFoundError(kNoLoadFunction.data());
    const bool asked = statement_of[i] != PollPlan::kNone;
    reader_.Read(queries[i], asked ? (*tables)[statement_of[i]] : missing, readings);
  }
  return readings;
}

absl::StatusOr<health::WorkCounters> PostgresProbe::SampleOnce(health::StatementsWish wish,
                                                               const Deadline& deadline) {
  if (absl::Status status = EnsureOpen(deadline); !status.ok()) return status;
  const int64_t began_ns = clock_.Read().monotonic_ns;
  std::vector<Statement> statements =
      sampler_.Statements(began_ns, wish, pipeline_.server_version());
  statements.push_back(BuiltIn(Query::kServer));
  auto tables = Run(statements, deadline);
  if (!tables.ok()) return tables.status();
  if (absl::Status status = ReadServer(tables->back()); !status.ok()) return status;
  // The server counted somewhere in between.
  const int64_t ended_ns = clock_.Read().monotonic_ns;
  return sampler_.Read(*tables, began_ns + (ended_ns - began_ns) / 2);
}

}  // namespace headgate::postgres
