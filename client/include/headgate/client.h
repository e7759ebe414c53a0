// Client: a job's side of Headgate. Ask before each chunk of work, say afterwards what it cost.
//
// Guarantees:
// - CheckOrWait waits in the server's line for its fair turn, in slices of at most 30 s. With a
// server
//   that lets nobody wait it asks again when the server said it may, never before (but see
//   longest_wait), and up to a quarter later, so that jobs that were refused together do not come
//   back together.
// - A server that stops sends away those who wait. CheckOrWait comes back to the next one for up to
//   longest_wait, whatever `on_unreachable` says.
// - No call blocks longer than it was told to. Check and CheckOrWait take at most check_deadline
// more
//   than they may wait, Report no time at all.
// - Only UNAVAILABLE is retried, which a call is that the server cuts when it stops; and under one
//   request id: a Check that is retried is charged once.
// - What happens while Headgate is unreachable is what `on_unreachable` says, nothing else.
// - Reports are sent in batches within 50 ms, tried again while the server cannot be reached or is
//   overloaded, and flushed when the client is destroyed. Those that are lost are counted.
//
// Thread-safe; one client for each process is enough. Nothing here throws. The client must outlive
// calls in progress, but neither its permits nor its leases, which it closes.
//
//   auto client = Client::Create({.address = "headgate:8081",
//                                 .on_unreachable = OnUnreachable::Wait(),
//                                 .identity = "backfill-orders:etl"});
//   if (!client.ok()) return client.status();
//   while (more_to_do) {
//     absl::StatusOr<Permit> permit = (*client)->CheckOrWait({}, absl::Minutes(10));
//     if (!permit.ok()) return permit.status();
//     DoOneChunk();
//   }  // the permit reports for how long the chunk kept the database busy

#ifndef HEADGATE_CLIENT_H_
#define HEADGATE_CLIENT_H_

#include <headgate/check.h>
#include <headgate/lease.h>
#include <headgate/permit.h>
#include <headgate/time_source.h>
#include <headgate/tls.h>
#include <headgate/transport.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::client {

// What to do while Headgate is unreachable: no answer within the deadline, or no connection. There
// is no default: only the job knows whether it harms more by working blindly or by standing still.
class OnUnreachable {
 public:
  enum class Kind { kFail, kWait, kProceed, kFloorRate };

  // Both calls return the error.
  static OnUnreachable Fail() { return {Kind::kFail, 0}; }
  // CheckOrWait keeps asking until its time is up. Check, which never waits, returns the error.
  static OnUnreachable Wait() { return {Kind::kWait, 0}; }
  // Everything is allowed.
  static OnUnreachable Proceed() { return {Kind::kProceed, 0}; }
  // As much is allowed as drains at this rate, by this client's own count: a chunk starts when the
  // ones before it have drained, or a day after the last. A Check without an estimate counts as 1.
  static OnUnreachable FloorRate(double cost_units_per_second) {
    return {Kind::kFloorRate, cost_units_per_second};
  }

  Kind kind() const { return kind_; }
  double cost_units_per_second() const { return cost_units_per_second_; }

 private:
  OnUnreachable(Kind kind, double rate) : kind_(kind), cost_units_per_second_(rate) {}

  Kind kind_;
  double cost_units_per_second_;
};

struct ClientOptions {
  std::string address = "127.0.0.1:8081";
  OnUnreachable on_unreachable;  // required
  std::string identity = {};     // of Checks that name none
  std::string target = {};       // of Checks that name none
  // For one answer, retries included, beyond the time for which it may wait in the server.
  absl::Duration check_deadline = absl::Milliseconds(250);
  // Where CheckOrWait does not wait in the server, it asks again after this long at most, whatever
  // retry_after says: meanwhile the database may have recovered, or the rules been changed.
  absl::Duration longest_wait = absl::Seconds(10);
  // Once Headgate was unreachable, Proceed and FloorRate decide without asking for this long, so
  // that an outage does not cost each chunk a deadline.
  absl::Duration outage_pause = absl::Seconds(1);
  // When so many reports wait to be sent, further ones are dropped.
  size_t max_queued_reports = size_t{1} << 16;
  // How long the destructor may take to send what is queued.
  absl::Duration flush_timeout = absl::Seconds(2);
  // Of request ids and jitter. Absent: drawn from the system, and different in each process, as
  // request ids have to be. For tests.
  std::optional<uint64_t> seed = {};
  std::shared_ptr<TimeSource> time = nullptr;  // null: the real time
  std::optional<TlsOptions> tls = {};          // absent: plaintext
  // A file with a bearer token, sent with each call; only over TLS. Read again when it changes.
  std::string token_file = {};
};

struct ReportStats {
  uint64_t pending = 0;    // queued or being sent
  uint64_t delivered = 0;  // taken by the server, settled before included
  uint64_t refused = 0;    // the server knows no such permit, or takes no such cost or busy time
  // Lost: their call failed, with another error than those of a server that cannot be reached or is
  // overloaded. Such are a proxy's errors, PERMISSION_DENIED, and UNAUTHENTICATED three times.
  uint64_t failed = 0;
  uint64_t dropped = 0;  // lost: the queue was full, or the client's time was up
  // Of those delivered: a budget was not charged all of it, since it was too far above what was
  // expected (Budget.max_overrun). Mostly a mistake of units.
  uint64_t overrun = 0;
  // Likewise: a budget stays charged what was predicted (ReportResult::unsettled).
  uint64_t unsettled = 0;
};

class Client {
 public:
  // Makes no connection yet. InvalidArgument names an option that is out of range, or a file of
  // `tls` or `token_file` that is not what it should be.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);
  // The same over another transport; options.address, tls and token_file are not used.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options,
                                                        std::shared_ptr<Transport> transport);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Asks once. A denial is an answer, not an error. An answer with a permit_id wants a Report.
  // Errors are the server's (InvalidArgument, NotFound, ResourceExhausted; RetryDelay(status) says
  // when to try again), Cancelled, or Unavailable and DeadlineExceeded where on_unreachable does
  // not say what to do instead.
  absl::StatusOr<Answer> Check(const CheckRequest& request, const std::stop_token& stop = {});

  // Asks until the work is allowed. DeadlineExceeded after max_wait (which may be infinite),
  // FailedPrecondition at once if the denial is one that waiting will not change, Cancelled when
  // `stop` is requested, else as Check. An overloaded server is waited for.
  absl::StatusOr<Permit> CheckOrWait(const CheckRequest& request, absl::Duration max_wait,
                                     const std::stop_token& stop = {});

  // For work in many small pieces: see lease.h. InvalidArgument names an option that is out of
  // range. The first lease is asked for at once, in the background.
  absl::StatusOr<std::unique_ptr<Lease>> NewLease(LeaseOptions options = {});
  // Queues a report and returns. InvalidArgument unless the cost is from 0 to kMaxCost and the busy
  // time finite and not below zero. A permit's number alone is a good report for every budget.
  absl::Status Report(uint64_t permit_id, const WorkDone& done = {});
  // Sends one report now, and tells what came of it.
  absl::StatusOr<ReportResult> ReportNow(uint64_t permit_id, const WorkDone& done = {},
                                         const std::stop_token& stop = {});
  // Waits until all that was queued before is sent or lost; false if that takes longer.
  bool Flush(absl::Duration timeout);
  ReportStats report_stats() const;

 private:
  explicit Client(std::shared_ptr<internal::Core> core);

  const std::shared_ptr<internal::Core> core_;
};

}  // namespace headgate::client

#endif  // HEADGATE_CLIENT_H_
