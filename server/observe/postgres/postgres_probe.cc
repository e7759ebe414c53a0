#include "server/observe/postgres/postgres_probe.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/observe/postgres/pooler.h"
#include "server/observe/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

constexpr std::string_view kNoLoadFunction =
    "the function headgate_load_per_core() is missing: server/observe/postgres/setup.sql creates "
    "it";

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
      pipeline_(options_.role),
      reader_(StandbyName(options_), options_.position),
      sampler_(options_.batch_work) {}

PostgresProbe::~PostgresProbe() = default;

absl::StatusOr<std::vector<health::Reading>> PostgresProbe::Poll(
    absl::Span<const health::SignalQuery> queries) {
  const Deadline deadline(clock_, options_.timeout);
  auto readings = Call<absl::StatusOr<std::vector<health::Reading>>>(
      [&] { return PollOnce(queries, deadline); });
  if (!readings.ok() && IsPrimary() && options_.position != nullptr) {
    options_.position->Lose(readings.status());
  }
  return readings;
}

absl::StatusOr<health::WorkCounters> PostgresProbe::SampleWork(health::StatementsWish wish) {
  const Deadline deadline(clock_, options_.timeout);
  return Call<absl::StatusOr<health::WorkCounters>>([&] { return SampleOnce(wish, deadline); });
}

template <typename Result>
Result PostgresProbe::Call(absl::FunctionRef<Result()> call) {
  const bool was_open = pipeline_.is_open();
  has_wrong_role_ = false;
  Result result = call();
  if (result.ok()) return result;
  const bool may_be_better = MayAskAgain(result.status()) || (was_open && has_wrong_role_);
  pipeline_.Close();
  if (!may_be_better) return result;
  result = call();
  if (!result.ok()) pipeline_.Close();
  return result;
}

// A pool of statements is found out by a first transaction. A session that idled for too long, as
// the server or a pooler has it, says nothing of either.
bool PostgresProbe::MayAskAgain(const absl::Status& status) {
  const bool idled = absl::IsUnavailable(status) && IsEndOfIdleness(status);
  const bool is_pool = !pipeline_.sends_singly() && IsOfStatementPool(status);
  if (is_pool) pipeline_.SendSingly();
  return idled || is_pool;
}

absl::Status PostgresProbe::EnsureOpen(const Deadline& deadline) {
  if (pipeline_.is_open()) return absl::OkStatus();
  absl::StatusOr<std::string> dsn = options_.dsn();
  if (!dsn.ok()) return dsn.status();
  absl::Status status = pipeline_.Open(*dsn, options_.timeout, deadline);
  if (!status.ok()) return status;
  std::vector<Statement> statements = {BuiltIn(Query::kServer)};
  if (options_.position != nullptr) statements.push_back(BuiltIn(Query::kSystem));
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> tables = Run(statements, deadline);
  if (!tables.ok()) return tables.status();
  // A role that may not ask for it goes without.
  system_.clear();
  const absl::StatusOr<Table>& system = tables->back();
  if (statements.size() > 1 && system.ok() && !system->empty()) {
    system_ = system->front()[0].value_or("");
  }
  reader_.SetSystem(system_);
  return ReadServer(tables->front());
}

Statement PostgresProbe::BuiltIn(Query query) const {
  return {.label = std::string(NameOf(query)),
          .sql = std::string(SqlOf(query, pipeline_.server_version())),
          .names = UsesNamesOfRole(query) ? Statement::Names::kRole : Statement::Names::kCatalog};
}

absl::StatusOr<std::vector<absl::StatusOr<Table>>> PostgresProbe::Run(
    absl::Span<const Statement> statements, const Deadline& deadline) {
  asked_ns_ = clock_.Read().monotonic_ns;
  auto tables = pipeline_.Run(statements, deadline);
  for (size_t i = 0; tables.ok() && i < tables->size(); ++i) {
    const bool is_undone = statements[i].ending == Statement::Ending::kUndo;
    if (!(*tables)[i].ok() && !is_undone) reader_.CountOwnRollback();
  }
  return tables;
}

absl::Status PostgresProbe::ReadServer(const absl::StatusOr<Table>& table) {
  if (!table.ok()) return table.status();
  if (table->empty()) return absl::InternalError("the server says nothing of itself");
  const std::vector<std::optional<std::string>>& row = table->front();
  note_ = pipeline_.IsOwnProcess(row[kServerProcess].value_or("")) ? "" : kLeadsThroughPooler;
  const bool in_recovery = row[kServerInRecovery] == "t";
  has_wrong_role_ = in_recovery != IsStandby(options_.role);
  if (has_wrong_role_) return WrongRole(options_.role);
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
  reader_.BeginPoll(now, row[kServerStartedAt].value_or(""), asked_ns_);
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
  const Statement statement = {.label = absl::StrCat("signal ", query.signal),
                               .sql = query.sql,
                               .names = Statement::Names::kRole,
                               .ending = options_.role == ServerRole::kPrimary
                                             ? Statement::Ending::kUndo
                                             : Statement::Ending::kRollBack};
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
  size_t position_at = PollPlan::kNone;
  for (size_t i = 0; i < queries.size(); ++i) {
    const SignalSource* source = FindSource(queries[i].signal);
    if (!queries[i].sql.empty() || source == nullptr) continue;
    if (source->query == Query::kLoad && !has_load_function_) continue;
    const bool position = source->query == Query::kStandby && IsPrimary();
    statement_of[i] = plan.AddOnce(position ? Query::kWal : source->query, built_in);
    if (position) position_at = statement_of[i];
  }
  auto tables = Run(plan.statements(), deadline);
  if (!tables.ok()) return tables.status();
  if (absl::Status status = ReadServer(tables->front()); !status.ok()) return status;
  if (position_at != PollPlan::kNone) TellPosition((*tables)[position_at]);
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

void PostgresProbe::TellPosition(const absl::StatusOr<Table>& wal) {
  if (options_.position == nullptr) return;
  double written = 0;
  if (!wal.ok()) return options_.position->Lose(wal.status());
  if (wal->empty() || !absl::SimpleAtod(wal->front()[kWalWritten].value_or(""), &written)) {
    return options_.position->Lose(absl::InternalError("the query returned too little"));
  }
  // By the end of the round trip it had written at least so much.
  options_.position->Note(
      clock_.Read().monotonic_ns,
      {.bytes = written, .system = system_, .timeline = wal->front()[kWalTimeline].value_or("")});
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
