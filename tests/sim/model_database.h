// A model of a database server that foreground and batch work share.
//
// It is as simple as the controller's task allows: so many cores, divided equally among what runs
// (processor sharing), and an interference by which each batch chunk in flight slows every
// foreground transaction beyond its share of the cores, as locks, cache and WAL do. The foreground
// is a closed loop of clients, or arrives at its own pace (Poisson) and queues. Its speed wanders
// by itself, as that of real ones does.
//
// Deterministic: chance comes from the seed. Thread-compatible.
//
//   ModelDatabase database({.clients = 8, .interference = 0.9}, 1);
//   database.StartChunk(0.02);
//   database.Advance(0.005);

#ifndef HEADGATE_TESTS_SIM_MODEL_DATABASE_H_
#define HEADGATE_TESTS_SIM_MODEL_DATABASE_H_

#include <cstdint>
#include <random>
#include <vector>

#include "server/health/probe.h"

namespace headgate::sim {

struct Workload {
  double cores = 2;
  int clients = 8;            // of the closed loop
  double pace = 0;            // transactions a second; above 0 instead of a closed loop
  double service = 0.0005;    // core seconds of a foreground transaction
  double interference = 0.5;  // slowdown of the foreground for each chunk in flight
  bool writes = true;         // transactions take ids; else they are only counted as calls
  bool statements = true;     // pg_stat_statements is loaded
  double wander = 0.05;       // relative standard deviation of the foreground's own speed
  // The foreground comes and goes every so many seconds; 0: it stays.
  double period = 0;
  // From then on there is no foreground, for `quiet_for` seconds; 0: there always is.
  double quiet_from = 0, quiet_for = 0;
};

class ModelDatabase {
 public:
  ModelDatabase(const Workload& workload, uint64_t seed);

  // Batch work: `work` core seconds. Returns its number.
  int StartChunk(double work);
  // Numbers of the chunks that ended since the last call.
  std::vector<int> TakeFinished();

  void Advance(double seconds);

  double now() const { return now_; }
  double transactions() const { return transactions_; }  // of the foreground
  int in_flight() const { return static_cast<int>(chunks_.size()); }
  // As a probe would read it; sampled at `now()`.
  health::WorkCounters Counters();
  void ResetStatements() { ++generation_, calls_ = busy_ = 0; }

 private:
  struct Chunk {
    int number;
    double left;  // core seconds
  };

  bool foreground_present() const;

  const Workload workload_;
  std::mt19937_64 dice_;
  double now_ = 0;
  double wander_ = 0;  // a slow random walk around 0
  std::vector<Chunk> chunks_;
  std::vector<int> finished_;
  int started_ = 0;
  int64_t ended_ = 0;
  double queue_ = 0;  // paced transactions that have arrived and not ended
  double active_ = 0;
  double transactions_ = 0, calls_ = 0, busy_ = 0;
  int64_t generation_ = 1;
};

}  // namespace headgate::sim

#endif  // HEADGATE_TESTS_SIM_MODEL_DATABASE_H_
