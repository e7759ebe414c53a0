// Jobs: a backfill on each database, of a worker for each server, which asks there before each
// chunk. Whoever gets no answer asks the next server, each of them once, and stays where it was
// answered.
//
// Thread-safe. The fleet outlives it.
//
//   Jobs jobs(fleet, clock);
//   jobs.Admitted(0);  // rows, so far
//   absl::Status status = jobs.Stop(record);
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "tests/demo/servers/fleet.h"
#include "tests/demo/servers/record.h"

namespace headgate::demo {

class Jobs {
 public:
  // `seconds` tells the time of the record.
  Jobs(Fleet& fleet, std::function<double()> seconds);
  ~Jobs();

  double Admitted(size_t database) const;
  // The first error of a database, as long as nobody has stopped the jobs.
  absl::Status Health() const;
  // Into the databases of the record.
  absl::Status Stop(ServersRecord& record);

 private:
  void Work(size_t database, int worker, const std::stop_token& stop);
  // False: it failed, at all servers.
  bool Ask(size_t database, int& server, v1::Decision& decision);
  void Note(size_t database, const AskedCheck& check);

  Fleet& fleet_;
  const std::function<double()> seconds_;
  mutable Mutex mutex_;
  std::vector<std::vector<AskedCheck>> checks_ ABSL_GUARDED_BY(mutex_);  // of each database
  std::vector<double> admitted_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace headgate::demo
