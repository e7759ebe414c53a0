// Reporter: sends reports in the background, in batches, and loses none without counting it.
//
// A report waits at most 50 ms for company, then goes out with up to 999 others, in the order in
// which they came. A batch that the server could not be given is tried again, with growing pauses
// of up to 2 s, until it is taken or time is up: reporting twice is harmless. One whose sender the
// server does not know is tried twice more, each time late enough for another token to be found. A
// call that fails otherwise loses its batch. A report whose measured busy time the server does not
// take goes once more, without it; one of a lease that it does not know goes once more with nothing
// but its counts. When the queue is full, further reports are dropped.
//
// Thread-safe; owns one thread.
//
//   Reporter reporter(transport, {.max_queued = 1000, .seed = 7});
//   reporter.Add({.permit_id = id, .done = {.actual_cost = 12}});
//   reporter.Stop(absl::Seconds(2));

#pragma once

#include <headgate/check.h>
#include <headgate/client.h>
#include <headgate/transport.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/jitter.h"
#include "client/token_retry.h"

namespace headgate::client::internal {

class Reporter {
 public:
  struct Options {
    size_t max_queued = 0;
    uint64_t seed = 0;
    absl::Duration new_token =
        TokenRetry::kPause;  // how long after a call another token may be found
  };

  Reporter(std::shared_ptr<Transport> transport, const Options& options);
  ~Reporter() { Stop(absl::ZeroDuration()); }

  // Never blocks for longer than a lock.
  void Add(const PermitReport& report);
  // Of a report of a lease: what a server can still count that does not know the lease, such as
  // one that was started anew. By its number it is counted once, whatever is repeated.
  static std::optional<PermitReport> CountsAlone(const PermitReport& report);
  // Waits until what was added before is sent or refused; false if that takes longer.
  bool Flush(absl::Duration timeout);
  // Sends what is queued, for at most `timeout`, and ends; what remains is dropped, and so is what
  // is added later.
  void Stop(absl::Duration timeout);
  ReportStats stats() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Results = std::vector<absl::StatusOr<ReportResult>>;

  void Run();
  // One attempt to send the head of the queue. Why it has to be repeated; OK: it need not be.
  absl::Status SendBatch(Lock& lock);
  // Counts what came of a batch whose call has ended. Returns what is to be sent once more.
  std::vector<PermitReport> Count(const std::vector<PermitReport>& batch,
                                  const absl::StatusOr<Results>& results);
  // Whether to send it again; counts.
  bool MayRepeat(const absl::Status& status);
  void Pause(Lock& lock, int failures, const absl::Status& why);

  const std::shared_ptr<Transport> transport_;
  const size_t max_queued_;
  Jitter jitter_;
  TokenRetry token_retry_;    // of the head of the queue; for the thread alone
  std::stop_source abandon_;  // time is up: even calls in progress end

  // A std::mutex because condition variables wait with it. Guards everything below.
  mutable std::mutex mutex_;
  std::condition_variable wake_;      // the thread waits for work
  std::condition_variable finished_;  // others wait for `done_`
  std::deque<PermitReport> queue_;    // those that are being sent are still in it
  uint64_t added_ = 0;                // to the queue, ever
  uint64_t done_ = 0;                 // removed from its front, ever
  uint64_t flush_to_ = 0;             // send without waiting for company while done_ is below
  bool stopping_ = false;
  ReportStats stats_;  // `pending` aside

  std::thread thread_;  // last: it uses all the others
};

}  // namespace headgate::client::internal
