#include "tests/load/batch_workers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "common/system_clock.h"

namespace headgate::load {
namespace {

absl::Time WallTime() { return SystemClock::ReadKernel().wall(); }

bool MayTryAgain(const absl::Status& status) {
  return absl::StrContains(status.message(), "deadlock detected") ||
         absl::StrContains(status.message(), "could not serialize access");
}

}  // namespace

Ask Greedy() {
  return [](int, int64_t, const std::stop_token&) { return absl::StatusOr<Turn>(Turn{}); };
}

void Pace::Set(double rows_per_second) {
  const std::lock_guard lock(mutex_);
  rows_per_second_ = rows_per_second;
  next_ = WallTime();
  ++changes_;
  changed_.notify_all();
}

Ask Pace::Asker() {
  return [this](int, int64_t rows, const std::stop_token& stop) { return Wait(rows, stop); };
}

absl::StatusOr<Turn> Pace::Wait(int64_t rows, const std::stop_token& stop) {
  constexpr absl::Duration kPaused = absl::Seconds(1);  // it is woken before
  const std::lock_guard first(first_);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const absl::Time now = WallTime();
    if (rows_per_second_ > 0 && now >= next_) {
      // From when it was due, so that late wake-ups do not lower the rate; but not long ago.
      const absl::Duration length = absl::Seconds(static_cast<double>(rows) / rows_per_second_);
      next_ = std::max(next_, now - length) + length;
      return Turn{};
    }
    const absl::Duration wait = rows_per_second_ > 0 ? next_ - now : kPaused;
    changed_.wait_for(lock, stop, absl::ToChronoNanoseconds(wait),
                      [this, seen = changes_] { return changes_ != seen; });
  }
  return absl::CancelledError("stopped");
}

std::string AccountsBackfill(int64_t first, int64_t last) {
  return absl::StrCat("UPDATE pgbench_accounts SET filler = md5(random()::text) WHERE aid BETWEEN ",
                      first, " AND ", last);
}

absl::StatusOr<std::unique_ptr<BatchWorkers>> BatchWorkers::Start(const BatchOptions& options,
                                                                  ChunkLog* log) {
  if (options.table_rows < options.workers) {
    return absl::InvalidArgumentError("table_rows: fewer than there are workers");
  }
  std::unique_ptr<BatchWorkers> batch(new BatchWorkers(options, log));
  for (int i = 0; i < options.workers; ++i) {
    absl::StatusOr<SqlSession> session = SqlSession::Open(options.dsn);
    if (!session.ok()) return session.status();
    batch->sessions_.push_back(std::move(*session));
  }
  for (int i = 0; i < options.workers; ++i) {
    SqlSession& session = batch->sessions_[static_cast<size_t>(i)];
    batch->threads_.emplace_back(
        [&batch = *batch, i, &session] { batch.Work(i, session, batch.stop_.get_token()); });
  }
  return batch;
}

void BatchWorkers::Work(int worker, SqlSession& session, const std::stop_token& stop) {
  int64_t rows = options_.chunk_rows;
  while (!stop.stop_requested()) {
    // No chunk is so large that two at work could meet at the table's end.
    rows = std::clamp<int64_t>(rows, 1, options_.table_rows / options_.workers);
    const absl::StatusOr<Turn> turn = options_.ask(worker, rows, stop);
    const absl::Status status = turn.ok() ? DoChunk(session, rows, *turn, stop) : turn.status();
    if (!status.ok() && !stop.stop_requested()) return Fail(status);
    if (turn.ok() && turn->next_rows > 0) rows = turn->next_rows;
  }
}

absl::Status BatchWorkers::DoChunk(SqlSession& session, int64_t rows, const Turn& turn,
                                   const std::stop_token& stop) {
  // relaxed: only the number itself is shared.
  const int64_t from = cursor_.fetch_add(rows, std::memory_order_relaxed) % options_.table_rows;
  const int64_t to = std::min(from + rows, options_.table_rows);
  const std::string sql = options_.statement(from + 1, to);
  const absl::Time began = WallTime();
  absl::Status status;
  do {
    status = session.Run(sql).status();
  } while (MayTryAgain(status) && !stop.stop_requested());
  const absl::Time ended = WallTime();
  if (status.ok()) log_->Add({.began = began, .ended = ended, .rows = to - from});
  if (turn.done) turn.done(ended - began);
  return status;
}

void BatchWorkers::Fail(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    failure_.Update(status);
  }
  stop_.request_stop();
}

absl::Status BatchWorkers::Health() const {
  MutexLock lock(&mutex_);
  return failure_;
}

absl::Status BatchWorkers::Stop() {
  stop_.request_stop();
  threads_.clear();
  return Health();
}

}  // namespace headgate::load
