#include "server/share/store/postgres_store.h"

#include <pqxx/result>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/share/store/round_sql.h"
#include "server/share/store/state_sql.h"

namespace headgate::store {
namespace {

using postgres::Deadline;

// Below the second after which PostgreSQL looks for a deadlock.
constexpr absl::Duration kStateLockTimeout = absl::Milliseconds(200);

// Two sessions of one server do not pause alike.
TransactorOptions ForStates(TransactorOptions options) {
  options.seed = ~options.seed;
  options.lock_timeout = kStateLockTimeout;
  return options;
}

}  // namespace

PostgresStore::PostgresStore(const TransactorOptions& options, Clock& clock)
    : options_(options),
      clock_(clock),
      rounds_(options, clock),
      states_(ForStates(options), clock) {}

void PostgresStore::Cancel() {
  rounds_.Cancel();
  states_.Cancel();
}

int64_t PostgresStore::rolled_back() {
  MutexLock rounds(&rounds_mutex_);
  MutexLock states(&states_mutex_);
  return rounds_.rolled_back() + states_.rolled_back();
}

absl::StatusOr<cluster::RoundReply> PostgresStore::Round(const cluster::RoundRequest& request,
                                                         absl::Duration timeout) {
  const Deadline deadline(clock_, timeout);
  absl::StatusOr<cluster::RoundReply> reply;
  MutexLock lock(&rounds_mutex_);
  absl::Status ran = rounds_.Run(
      Scope::kStatement, deadline.Left(),
      [&](pqxx::transaction_base& work) { reply = ReadRound(work.exec(RoundSql(work, request))); });
  if (!ran.ok()) return ran;
  return reply;
}

std::vector<absl::Status> PostgresStore::WriteStates(absl::Span<const cluster::StateWrite> writes,
                                                     absl::Duration timeout) {
  if (writes.empty()) return {};
  const Deadline deadline(clock_, timeout);
  std::vector<absl::Status> written;
  MutexLock lock(&states_mutex_);
  absl::Status ran = states_.Run(
      Scope::kStatement, deadline.Left(),
      [&](pqxx::transaction_base& work) { written = store::WriteStates(work, writes); });
  if (!ran.ok()) written.assign(writes.size(), ran);
  return written;
}

std::vector<cluster::ReadState> PostgresStore::ReadStates(absl::Span<const cluster::Held> targets,
                                                          absl::Duration timeout) {
  if (targets.empty()) return {};
  const Deadline deadline(clock_, timeout);
  std::vector<cluster::ReadState> states;
  MutexLock lock(&states_mutex_);
  absl::Status ran =
      states_.Run(Scope::kStatement, deadline.Left(),
                  [&](pqxx::transaction_base& work) { states = store::ReadStates(work, targets); });
  if (!ran.ok()) states.assign(targets.size(), ran);
  return states;
}

absl::Status PostgresStore::TryStates(uint64_t incarnation, absl::Duration timeout) {
  const Deadline deadline(clock_, timeout);
  MutexLock lock(&states_mutex_);
  return states_.Run(Scope::kStatement, deadline.Left(),
                     [&](pqxx::transaction_base& work) { store::TryStates(work, incarnation); });
}

absl::Status PostgresStore::Order(absl::FunctionRef<bool(pqxx::transaction_base&)> change,
                                  std::string_view missing, absl::Duration timeout) {
  Transactor transactor(options_, clock_);
  bool found = false;
  absl::Status ran = transactor.Run(Scope::kStatement, timeout,
                                    [&](pqxx::transaction_base& work) { found = change(work); });
  if (!ran.ok() || found) return ran;
  return absl::NotFoundError(Sv(missing));
}

absl::Status PostgresStore::SetDrained(std::string_view member, bool drained,
                                       absl::Duration timeout) {
  const auto change = [&](pqxx::transaction_base& work) {
    const std::string sql =
        absl::StrCat("UPDATE headgate_store.member SET drained = ", drained ? "true" : "false",
                     " WHERE name = ", work.quote(std::string(member)));
    return work.exec(sql).affected_rows() == 1;
  };
  return Order(change, absl::StrCat("there is no member ", Sv(member)), timeout);
}

absl::Status PostgresStore::SetPreferred(std::string_view target, std::string_view member,
                                         absl::Duration timeout) {
  const auto change = [&](pqxx::transaction_base& work) {
    const std::string to = work.quote(std::string(member));
    const std::string sql =
        absl::StrCat("UPDATE headgate_store.ownership SET preferred = ", to,
                     " WHERE target = ", work.quote(std::string(target)), " AND (", to,
                     " = '' OR EXISTS (SELECT FROM headgate_store.member WHERE name = ", to, "))");
    return work.exec(sql).affected_rows() == 1;
  };
  return Order(change,
               absl::StrCat("there is no target ", Sv(target), ", or no member ", Sv(member)),
               timeout);
}

}  // namespace headgate::store
