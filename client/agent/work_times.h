// WorkTimes: what sessions that yield are at while they are at work: whether it is the processor
// that bounds them, the disk, locks or standbys.
//
// Each look at the sessions stands for the time since the look before. It is exact to about the
// tenth of a second that looks are apart.
//
// Pure and thread-compatible.
//
//   work_times.Note(at_work, now_ns);
//   report.work = work_times.all();
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace headgate::agent {

// What a session is at. The numbers are those of kLookSql.
enum class Work : uint8_t {
  kNone = 0,       // it has nothing to do, or waits for its client
  kProcessor = 1,  // it runs, or waits for a processor
  kDisk = 2,       // that of the write-ahead log among it
  kLocks = 3,      // that other sessions have
  kStandbys = 4,   // that have to confirm a commit
  kOther = 5,      // within PostgreSQL
};

// In seconds.
struct WorkSeconds {
  double processor = 0, disk = 0, locks = 0, standbys = 0, other = 0;

  friend bool operator==(const WorkSeconds&, const WorkSeconds&) = default;
};

class WorkTimes {
 public:
  static constexpr double kMemoryS = 10;
  // For which a look stands at most: nobody knows what was between two that are farther apart.
  static constexpr double kMostS = 1;

  // What each session that yields is at. `now_ns` is monotonic.
  void Note(absl::Span<const Work> sessions, int64_t now_ns);

  // So far; they grow.
  const WorkSeconds& all() const { return all_; }
  // What is long ago fades, with a memory of kMemoryS.
  const WorkSeconds& recent() const { return recent_; }

 private:
  WorkSeconds all_;
  WorkSeconds recent_;
  int64_t noted_ns_ = 0;  // 0: never
};

}  // namespace headgate::agent
