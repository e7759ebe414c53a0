// ModelDatabase: a database server with a foreground and a batch, in virtual time.
//
// Transactions and chunks are jobs on shared cores. A transaction then waits for its commit, longer
// the more chunks are at work; some wait for rows that a chunk has locked. Service times are
// random, and the machine has better and worse moments, as shared ones do. What it shows to
// Headgate is what PostgreSQL would: counters, and who is active at the moment.
//
// It is calibrated to resemble the measurements in docs/health.md, not to predict them.
//
// Deterministic: the same seed gives the same run. Thread-compatible.
//
//   ModelDatabase database(spec, gate, /*seed=*/1);
//   database.RunUntil(10);
//   health::WorkCounters counters = database.Counters();

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "server/observe/control/yielding.h"
#include "server/observe/health/probe.h"
#include "tests/sim/model_spec.h"
#include "tests/sim/processors.h"

namespace headgate::sim {

// Whom batch workers ask before each chunk.
class BatchGate {
 public:
  virtual ~BatchGate() = default;

  struct Leave {
    bool granted = true;
    uint64_t permit = 0;
    double retry_after = 0;  // s
    double chunk_scale = 0;  // 0: chunks are right as they are
  };
  // `rows`: of the chunk; 0: the worker does not know.
  virtual Leave Ask(int worker, double rows, double now) = 0;
  virtual void Report(uint64_t permit, double rows, double busy_seconds, double now) = 0;
};

// What happened in a while.
struct Tally {
  double seconds = 0;
  double present = 0;                 // s that there was a foreground
  double transactions = 0;            // of it
  std::vector<float> latencies = {};  // s, of those
  double work = 0;                    // s of a core that chunks which asked were done with
  double busy = 0;                    // s that those took
  double chunks = 0;                  // those
  double rows = 0;                    // that they moved, where chunks have rows
};

class ModelDatabase {
 public:
  // The gate outlives the database.
  ModelDatabase(const ModelSpec& spec, BatchGate& gate, uint64_t seed);

  void RunUntil(double time);
  double now() const { return now_; }

  // As a probe would read them.
  health::WorkCounters Counters() const;
  // pg_stat_statements starts from zero.
  void ResetStatements();
  // As the agent beside it would tell.
  control::Yielding Told() const;
  // Since the last call.
  Tally TakeTally();

 private:
  enum class What : uint8_t {
    kArrival,
    kNext,
    kCommitted,
    kFlushed,
    kAnalyst,
    kWorker,
    kMoment,
    kLook,
  };
  struct Event {
    double at = 0;
    uint64_t order = 0;
    What what = What::kMoment;
    int who = 0;
    bool operator>(const Event& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };
  struct Client {
    bool active = false;
    double arrived_at = 0;
    double began_at = 0;
  };
  struct Worker {
    bool asks = true;
    bool active = false;
    uint64_t permit = 0;
    double began_at = 0;
    double work = 0;
    double rows = 0, next_rows = 0;  // of its chunk, of its next one; 0: not known
    std::vector<int> waiting = {};   // clients that want its rows
    double awaited_since = 0;        // by the first of those
    Rank rank = Rank::kNormal;
    // While it has idle rank: since when it is watched, and what it still needed of a core then.
    bool is_raised = false;
    double watched_since = 0, left_then = 0;
    double raised_until_left = 0;  // of what it needs, where it was raised since it starved
  };

  // Jobs of cores: those of clients are below, those of analysts, of chunks, and of what the job
  // itself does beside the database for a chunk from there on.
  static constexpr int kFirstAnalyst = 1 << 19, kFirstWorker = 1 << 20, kFirstBeside = 1 << 21;

  void Schedule(double at, What what, int who);
  void EndJob(int job);
  void Handle(const Event& event);
  void Moment();
  bool Present() const;
  // Whether this client is there only for a while, and not now.
  bool IsAway(int client) const;

  void Arrive();
  void Begin(int client, double arrived_at);
  void EndCpu(int client);
  void Commit(int client);
  // Joins the next flush of the log, which takes that much longer.
  void Write(int job, double seconds);
  void Flush();
  void Flushed();
  void Ask(int analyst);
  void Answer(int analyst);
  // A statement of pg_stat_statements, as far as its deviation takes it.
  struct Statement {
    double calls = 0, mean = 0;  // s
  };
  // So many calls took `busy` together, each as long as the others.
  void Count(Statement& statement, double calls, double busy);
  void End(int client);
  int LockedBy();  // a worker; -1: none

  bool Yields() const { return spec_.yielding.works && now_ < spec_.yielding.until; }
  void Look();
  void LookAt(int worker);
  void SetRank(int worker, Rank rank);
  // Whether it is to have normal rank though it yields.
  bool IsToBeRaised(int worker);

  void Wake(int worker);
  void BeginChunk(int worker);
  void EndCpuOfChunk(int worker);
  void EndChunk(int worker);

  using Dice = std::mt19937_64;
  static double Uniform(Dice& dice);
  static double Normal(Dice& dice);
  double Uniform() { return Uniform(dice_); }
  double Normal() { return Normal(dice_); }
  double Exponential(double mean);

  const ModelSpec spec_;
  BatchGate& gate_;
  Dice dice_;
  Dice machine_dice_;  // of their own, so that two laws see the same machine
  Processors cores_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t events_made_ = 0;
  double now_ = 0;
  double mood_ = 0;  // logarithm of the machine's speed, without flicker
  double tide_ = 0;  // the same, of its drift
  bool neighbours_ = false;
  std::vector<int> flushing_ = {}, to_flush_ = {};  // jobs
  double to_write_ = 0;                             // s
  std::vector<double> asked_at_;                    // of analysts
  double to_be_written_ = 0;                        // busy seconds
  int at_work_ = 0, idle_at_work_ = 0;              // chunks, and those of idle rank
  std::vector<Client> clients_;
  std::vector<Worker> workers_;
  std::deque<double> queue_;  // arrivals that no client was free for

  int64_t next_id_ = 1000;
  health::WorkCounters::Statements counted_ = {.generation = 1};
  Statement slow_, quick_, chunk_;  // a transaction's slowest, all its others, batch work's
  Tally tally_;
  double tally_from_ = 0;
  uint64_t raises_ = 0;
};

}  // namespace headgate::sim
