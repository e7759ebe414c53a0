// ProcessorFloor: the processor time that batch work has at least, all of it together.
//
// Where others take all of the processors, who yields to them gets next to nothing: less than they
// would tolerate, and what it holds inside PostgreSQL it holds for as long. So what batch work is
// due, and has not had, is added up; once that is a quarter of a second of it, some of its sessions
// are relieved: they have the rank that they came with until all has been had.
//
// Due is the floor, and no more than half of what was wanted: whoever gets half of the processor
// time that it wants is never relieved, however high the floor is, and work that waits for disks or
// locks is due next to nothing. What is had beyond what is due counts for later, for a second. A
// relief ends after a second, and where it brought nothing the next one comes later and later: it
// is somebody else who holds the processors.
//
// Of 64 processes the time is looked at, those at work first.
//
// Pure and thread-compatible. Times are monotonic.
//
//   if (floor.AsksProcessorTime(now_ns, wanting)) { read the processes' times }
//   const bool relieves = floor.Decide(processes, now_ns);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "client/agent/yield_plan.h"

namespace headgate::agent {

class ProcessorFloor {
 public:
  static constexpr int64_t kSettledEachNs = 500'000'000;
  static constexpr int64_t kPatienceNs = 250'000'000;
  static constexpr int64_t kMemoryNs = 1'000'000'000;
  static constexpr int64_t kLongestReliefNs = 1'000'000'000;
  static constexpr int64_t kShortestRestNs = 500'000'000, kLongestRestNs = 8'000'000'000;
  static constexpr size_t kMostCounted = 64;

  // `processors`: how many of them; 0: there is no floor.
  explicit ProcessorFloor(double processors) : processors_(processors) {}

  double processors() const { return processors_; }
  // Whether this look has to say how much was run. `wanting`: how many processes of batch work want
  // to run now.
  bool AsksProcessorTime(int64_t now_ns, size_t wanting) const;
  // Whether sessions are to be relieved until the next look. Of those whose `ran_ns` is absent
  // nothing is counted.
  bool Decide(absl::Span<const BatchSession> sessions, int64_t now_ns);

 private:
  struct Known {
    int64_t began_us = 0;
    int64_t ran_ns = 0;
    uint64_t round = 0;
  };

  double Grown(absl::Span<const BatchSession> sessions);
  // Adds up what was due and had since the last time.
  void Settle(double ran_ns, int64_t now_ns);
  void BeginOrEnd(int64_t now_ns);

  const double processors_;
  absl::flat_hash_map<int, Known> known_;  // by pid
  uint64_t round_ = 0;
  int64_t looked_at_ns_ = 0, settled_at_ns_ = 0;  // 0: never
  double wanted_ns_ = 0;                          // since then
  double due_ = 0;                                // processors, in the last watch
  double lacking_ns_ = 0;                         // below 0: it has had more than it was due
  bool relieves_ = false;
  int64_t relieved_at_ns_ = 0;  // when the relief began
  double lacked_ns_ = 0;        // then
  int64_t rests_until_ns_ = 0;
  int64_t rest_ns_ = kShortestRestNs;
};

}  // namespace headgate::agent
