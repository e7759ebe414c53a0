#include "server/observe/postgres/log_store.h"

#include <pqxx/result>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/postgres/encoding.h"
#include "server/observe/postgres/log_batch.h"
#include "server/observe/postgres/log_maintenance.h"
#include "server/observe/postgres/log_query.h"
#include "server/observe/postgres/log_schema.h"
#include "server/observe/postgres/session.h"

namespace headgate::postgres {
namespace {

// As many sessions are kept for the next queries.
constexpr size_t kIdleReaders = 2;

absl::Status Examine(absl::Span<const throttle_log::Row> rows) {
  for (const throttle_log::Row& row : rows) {
    if (row.length_s > 0 && row.step_s >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("a row of the throttle log has a step at ",
                                                   row.step_s, " s of ", row.length_s, " s"));
  }
  return absl::OkStatus();
}

std::string NoteOf(const Session& session) {
  if (HoldsAnyText(session.encoding())) return session.Note();
  return absl::StrCat(
      session.Note(), session.Note().empty() ? "" : "; ",
      "characters of names beyond ASCII are written as ?: the database was made in ",
      session.encoding(), ", and has to be of UTF8 to hold them");
}

}  // namespace

PostgresLogStore::PostgresLogStore(PostgresLogStoreOptions options,
                                   const throttle_log::Retention& retention, Clock& clock)
    : options_(std::move(options)), retention_(retention), clock_(clock), connector_(waiter_) {}

PostgresLogStore::~PostgresLogStore() = default;

absl::StatusOr<PostgresLogStore::SessionPtr> PostgresLogStore::Connect(absl::Duration limit) const {
  absl::StatusOr<std::string> dsn = options_.dsn();
  if (!dsn.ok()) return dsn.status();
  return Session::Open(connector_,
                       {.dsn = *dsn, .store = "the throttle log", .statement_timeout = limit},
                       Deadline(clock_, limit));
}

// What is wrong may be that the schema is gone: the next session makes it anew.
absl::Status PostgresLogStore::Write(absl::FunctionRef<void(pqxx::work&)> work) {
  absl::Status status = session_->Transact(Deadline(clock_, options_.timeout), work);
  if (!status.ok()) session_ = nullptr;
  return status;
}

// A session that has the schema, and this run's place among the writers.
absl::Status PostgresLogStore::EnsureWriter() {
  if (session_ != nullptr && session_->is_broken()) session_ = nullptr;
  if (session_ == nullptr) {
    absl::StatusOr<SessionPtr> session = Connect(options_.timeout);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    Note(NoteOf(*session_));
    absl::Status status = Write([](pqxx::work& work) { EnsureLogSchema(work); });
    if (!status.ok()) return status;
    // Without it everything is written all the same; the next session tries again.
    session_->Transact(Deadline(clock_, options_.timeout), RenewLogView).IgnoreError();
    if (session_->is_broken()) return absl::UnavailableError("the session was lost");
  }
  if (writer_.has_value()) return absl::OkStatus();
  int64_t id = 0;
  absl::Status status = Write([&](pqxx::work& work) {
    id =
        work.exec1("INSERT INTO headgate_log.writers DEFAULT VALUES RETURNING id")[0].as<int64_t>();
  });
  if (status.ok()) writer_ = id;
  return status;
}

absl::Status PostgresLogStore::Append(absl::Span<const throttle_log::Row> rows, int64_t batch) {
  MutexLock lock(&writing_);
  absl::Status status = Examine(rows);
  if (status.ok()) status = EnsureWriter();
  if (status.ok()) status = AppendOnce(rows, batch);
  Publish(status);
  return status;
}

// The writer's row is locked before anything is sent that a former session, given up in the middle
// of this batch, could still be about to commit. So either that one has committed, and is found
// here, or it never will.
absl::Status PostgresLogStore::AppendOnce(absl::Span<const throttle_log::Row> rows, int64_t batch) {
  const int64_t writer = *writer_;
  const BatchTable table = session_->is_own() ? BatchTable::kKept : BatchTable::kDropped;
  const bool holds_any = HoldsAnyText(session_->encoding());
  bool is_known = true;
  absl::Status status = Write([&](pqxx::work& work) {
    const pqxx::result last = work.exec(
        absl::StrCat("SELECT batch FROM headgate_log.writers WHERE id = ", writer, " FOR UPDATE"));
    is_known = !last.empty();
    if (!is_known || (!last[0][0].is_null() && last[0][0].as<int64_t>() == batch)) return;
    if (!rows.empty()) WriteLogBatch(work, holds_any ? rows : InAscii(rows), table);
    work.exec(absl::StrCat("UPDATE headgate_log.writers SET wrote_at = now(), batch = ", batch,
                           " WHERE id = ", writer));
  });
  if (!status.ok() || is_known) return status;
  writer_.reset();
  return absl::UnavailableError("the throttle log's database was emptied or restored; once more");
}

absl::Status PostgresLogStore::Maintain(absl::Time now) {
  MutexLock lock(&writing_);
  absl::Status status = EnsureWriter();
  if (status.ok()) status = MaintainOnce(now);
  if (status.ok()) status = Measure();
  Publish(status);
  return status;
}

absl::Status PostgresLogStore::MaintainOnce(absl::Time now) {
  for (const auto step : {&DropOldLogDays, &DropLogDaysBeyondCap, &CoarsenLogDays}) {
    absl::Status status = Write([&](pqxx::work& work) { step(work, retention_, now); });
    if (!status.ok()) return status;
  }
  return Write([](pqxx::work& work) { DropUnusedLogNames(work); });
}

absl::Status PostgresLogStore::Measure() {
  throttle_log::StoreState state;
  // Clang does not see that what is called here and now has the lock.
  KnownOldestStep* const oldest = &oldest_;
  absl::Status status = Write([&](pqxx::work& work) { state = MeasureLog(work, *oldest); });
  if (!status.ok()) return status;
  MutexLock lock(&mutex_);
  state.note = state_.note;
  state_ = state;
  return status;
}

void PostgresLogStore::Note(const std::string& note) const {
  {
    MutexLock lock(&mutex_);
    state_.note = note;
  }
  if (options_.on_note) options_.on_note(note);
}

void PostgresLogStore::Publish(const absl::Status& status) const {
  MutexLock lock(&mutex_);
  state_.status = status;
}

throttle_log::StoreState PostgresLogStore::State() const {
  MutexLock lock(&mutex_);
  return state_;
}

absl::Status PostgresLogStore::Scan(const throttle_log::ScanFilter& filter,
                                    absl::FunctionRef<bool(const throttle_log::Row&)> visit) const {
  SessionPtr session;
  {
    MutexLock lock(&mutex_);
    if (!readers_.empty()) {
      session = std::move(readers_.back());
      readers_.pop_back();
    }
  }
  absl::Status status;
  LogQuery query(filter, clock_, options_.scan_timeout);
  if (session != nullptr) {
    status = query.Start(*session);
    if (!status.ok()) query.End(*session);
  }
  // One that was idle may have been cut meanwhile.
  if (session == nullptr || !status.ok()) {
    absl::StatusOr<SessionPtr> opened = Connect(options_.scan_timeout);
    if (!opened.ok()) return opened.status();
    session = *std::move(opened);
    status = query.Start(*session);
  }
  if (status.ok()) status = query.Read(*session, visit);
  query.End(*session);
  MutexLock lock(&mutex_);
  if (status.ok() && !session->is_broken() && readers_.size() < kIdleReaders) {
    readers_.push_back(std::move(session));
  }
  return status;
}

}  // namespace headgate::postgres
