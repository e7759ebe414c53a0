// LeaseRunner: what makes a LeaseHolder one that many threads share: its lock, its thread, which
// asks and returns, and those who wait.
//
// A second thread waits for orders that take leases back (lease_watcher.h).
//
// Thread-safe; its threads end with Close.
//
//   auto runner = std::make_shared<LeaseRunner>(core, options);
//   Admission admission = runner->Admit(1);

#pragma once

#include <headgate/check.h>
#include <headgate/lease.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/lease_holder.h"
#include "client/lease_watcher.h"

namespace headgate::client::internal {

class Core;

class LeaseRunner {
 public:
  LeaseRunner(std::shared_ptr<Core> core, const LeaseOptions& options);
  ~LeaseRunner() { Close(); }

  Admission Admit(double cost);
  absl::Status Wait(double cost, absl::Duration max_wait, const std::stop_token& stop);
  absl::Status Settle(double estimate, const WorkDone& done);
  void Close();
  LeaseStats stats() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  int64_t Now() const;
  Admission AdmitLocked(double cost, int64_t now_ns, LeaseHolder::Refusal refusal);
  Admission DecideAlone(double cost, LeaseHolder::Refusal refusal);
  // Until it is admitted or need not wait any longer.
  absl::Status WaitLocked(Lock& lock, double cost, int64_t deadline_ns,
                          const std::stop_token& stop);
  void Signal(int64_t now_ns);
  void Run();
  // Without the lock meanwhile.
  void Ask(Lock& lock, CheckRequest ask);
  void Return();
  void OnState(uint64_t state);
  // Once more, what came back with an ask.
  void ReturnAgain(const CheckRequest& ask, Answer::Returned returned);

  const std::shared_ptr<Core> core_;
  const LeaseOptions options_;
  std::stop_source stop_;
  std::mutex joining_;  // of two who close it, one joins

  // A std::mutex because condition variables wait with it. Guards everything below.
  mutable std::mutex mutex_;
  LeaseHolder holder_;
  int64_t look_at_ns_ = 0;            // when the thread wakes by itself
  bool signalled_ = false;            // it has been told to look before
  std::multiset<int64_t> deadlines_;  // of those who wait
  std::condition_variable_any work_;  // the thread waits for something to do
  std::condition_variable_any room_;  // others wait for room
  bool closed_ = false;
  absl::Status unreachable_;  // why nobody was reached; OK: the newest call was answered

  LeaseWatcher watcher_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace headgate::client::internal
