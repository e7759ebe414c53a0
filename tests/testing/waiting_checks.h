// WaitingChecks: many Checks that wait in line at a real server, each a call of its own, on a
// connection for each hundred of them; and what became of them.
//
// A Check that was sent away may be sent again, under the request id that it had.
// Thread-compatible.
//
//   WaitingChecks checks(server.address(), {.checks = 1000, .identity = "etl"});
//   checks.Send();
//   ... checks.Await(absl::Seconds(30)).sent_away ...
#pragma once

#include <grpcpp/completion_queue.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate {

struct WaitingChecksOptions {
  int checks = 1;
  std::string identity = "etl";  // of which each has a job
  double cost = 1;
  absl::Duration max_wait = absl::Minutes(10);
  absl::Duration patience = absl::Minutes(15);  // the deadline of each call
};

// Of all that have an answer, how the last call of each ended.
struct WaitingOutcomes {
  int allowed = 0;
  int denied = 0;
  int sent_away = 0;            // UNAVAILABLE, and told when to come back
  int cut = 0;                  // UNAVAILABLE without a word of when, as a broken connection is
  int cancelled = 0;            // by Cancel
  int out_of_time = 0;          // DEADLINE_EXCEEDED
  int failed = 0;               // in any other way
  int unanswered = 0;           // there is no answer yet
  std::string last_error = {};  // of those that failed or were cut
};

class WaitingChecks {
 public:
  WaitingChecks(const std::string& address, const WaitingChecksOptions& options);
  // Cancels what still waits.
  ~WaitingChecks();
  WaitingChecks(const WaitingChecks&) = delete;
  WaitingChecks& operator=(const WaitingChecks&) = delete;

  // All that were neither allowed nor denied and are not under way. They wait for a server, if
  // there is none yet.
  void Send();
  // Those under way.
  void Cancel();
  // Returns when each that was sent has its answer, or when the time is up.
  WaitingOutcomes Await(absl::Duration limit);
  // Lets the connections notice that the server closes them, which gRPC's do not by themselves
  // where no call is under way.
  void Listen(absl::Duration time);

 private:
  struct Call;

  static void Count(const Call& call, WaitingOutcomes& outcomes);
  // Whether there was one before the deadline.
  bool TakeAnswer(absl::Time deadline);

  const WaitingChecksOptions options_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::ThrottlerService::Stub>> stubs_;
  std::vector<std::unique_ptr<Call>> calls_;
  int under_way_ = 0;
};

}  // namespace headgate
