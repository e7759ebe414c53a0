// The batch of a model database: workers that ask, work and report, the ranks of their sessions,
// and the agent that sees to these.

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/sim/model_database.h"

namespace headgate::sim {
namespace {

constexpr double kLongestWait = 1;  // s until a worker asks again, whatever it was told
constexpr double kFewestRows = 10, kMostRows = 100'000;  // of a chunk

// As docs/agent.md has it.
constexpr double kWaitedFor = 0.02;                  // s
constexpr double kStarvesFor = 1, kStarving = 0.02;  // s, in which it has run for less than that
constexpr double kRunsFor = 0.2;                     // s

}  // namespace

void ModelDatabase::Wake(int who) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  if (!worker.asks) return BeginChunk(who);
  worker.rows = worker.next_rows;
  const BatchGate::Leave leave = gate_.Ask(who, worker.rows, now_);
  if (!leave.granted) {
    // Spread, as the client library does it.
    const double wait = std::min(leave.retry_after, kLongestWait) * (1 + 0.1 * Uniform());
    return Schedule(now_ + wait + 0.001, What::kWorker, who);
  }
  worker.permit = leave.permit;
  if (leave.chunk_scale > 0) {
    worker.next_rows =
        std::clamp(worker.rows * leave.chunk_scale, std::min(kFewestRows, worker.rows), kMostRows);
  }
  if (spec_.batch.client <= 0) return BeginChunk(who);
  cores_.Start(kFirstBeside + who, Exponential(spec_.batch.client));
}

void ModelDatabase::BeginChunk(int who) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  const double spread = spec_.batch.spread;
  worker.active = true;
  worker.began_at = now_;
  worker.work = (worker.rows > 0 ? worker.rows * spec_.batch.row : spec_.batch.cpu) *
                std::exp(spread * Normal() - spread * spread / 2);
  worker.is_raised = false;
  worker.watched_since = now_;
  worker.left_then = worker.work;
  worker.raised_until_left = 0;
  ++at_work_;
  worker.rank = Yields() ? Rank::kIdle : Rank::kNormal;
  idle_at_work_ += worker.rank == Rank::kIdle ? 1 : 0;
  cores_.Start(kFirstWorker + who, worker.work, worker.rank);
}

void ModelDatabase::EndCpuOfChunk(int who) {
  if (spec_.log.flush <= 0 || spec_.batch.log_share <= 0) return EndChunk(who);
  Write(kFirstWorker + who, workers_[static_cast<size_t>(who)].work * spec_.batch.log_share);
}

void ModelDatabase::EndChunk(int who) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  const double busy = now_ - worker.began_at;
  worker.active = false;
  --at_work_;
  idle_at_work_ -= worker.rank == Rank::kIdle ? 1 : 0;
  next_id_ += static_cast<int64_t>(spec_.batch.transactions_each);
  to_be_written_ += busy;
  if (!spec_.told_apart) {
    Count(chunk_, 1, busy);
  }
  for (const int client : std::exchange(worker.waiting, {})) Commit(client);
  if (!worker.asks) return Schedule(now_ + Exponential(busy), What::kWorker, who);
  tally_.work += worker.work;
  tally_.busy += busy;
  tally_.chunks += 1;
  tally_.rows += worker.rows;
  gate_.Report(worker.permit, worker.rows, busy, now_);
  Wake(who);
}

// Where the agent has gone everybody has normal rank again.
void ModelDatabase::Look() {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].active) LookAt(static_cast<int>(i));
  }
  if (Yields())
    Schedule(std::min(now_ + spec_.yielding.looks, spec_.yielding.until), What::kLook, 0);
}

void ModelDatabase::LookAt(int who) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  if (!Yields()) return SetRank(who, Rank::kNormal);
  const bool raise = spec_.yielding.raises && IsToBeRaised(who);
  if (raise && !worker.is_raised) ++raises_;
  worker.is_raised = raise;
  SetRank(who, raise ? Rank::kNormal : Rank::kIdle);
}

// What waits for its commit keeps its rank.
void ModelDatabase::SetRank(int who, Rank rank) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  if (!cores_.SetRank(kFirstWorker + who, rank)) return;
  worker.rank = rank;
  idle_at_work_ += rank == Rank::kIdle ? 1 : -1;
}

bool ModelDatabase::IsToBeRaised(int who) {
  Worker& worker = workers_[static_cast<size_t>(who)];
  const double left = cores_.LeftOf(kFirstWorker + who);
  if (!worker.waiting.empty() && now_ - worker.awaited_since >= kWaitedFor) return true;
  if (worker.is_raised && left > worker.raised_until_left && worker.raised_until_left > 0)
    return true;
  if (now_ - worker.watched_since < kStarvesFor) return false;
  const bool starves = worker.left_then - left < kStarving;
  worker.watched_since = now_;
  worker.left_then = left;
  // To its end, where that is nearer.
  if (starves) worker.raised_until_left = std::max(left - kRunsFor, 1e-9);
  return starves;
}

control::Yielding ModelDatabase::Told() const {
  control::Yielding told{.works = Yields()};
  if (!told.works) return told;
  told.means = "SCHED_IDLE";
  for (const Worker& worker : workers_) {
    (worker.active && worker.is_raised ? told.raised : told.sessions) += 1;
  }
  told.processor_seconds = cores_.idle_seconds();
  told.raises = raises_;
  return told;
}

}  // namespace headgate::sim
