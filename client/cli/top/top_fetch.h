// Everything that `top` shows, asked for in the background: a live view must be able to end while a
// server does not answer.
//
// Thread-compatible: one thread starts, takes and destroys.
//
//   TopFetch fetch(connection, "");
//   fetch.Start(now);
//   ... poll fetch.ready_fd() ...
//   absl::StatusOr<TopAnswers> answers = fetch.Take();

#pragma once

#include <headgate/v1/override_service.pb.h>
#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/connection/connection.h"
#include "common/file_descriptor.h"

namespace headgate::cli {

// One answer of each call.
struct TopAnswers {
  v1::GetStatusResponse status;
  v1::ListBudgetsResponse budgets;
  v1::ListBucketsResponse buckets;
  v1::ListLinesResponse lines;    // none from a server that is older
  v1::ListLeasesResponse leases;  // likewise
  v1::ListOverridesResponse overrides;
  // Of the last TopFetch::kRecent: what was denied by identity and cause, and all Checks by
  // identity.
  v1::QueryThrottleLogResponse denied;
  v1::QueryThrottleLogResponse checks;
  v1::ListDenialsResponse newest;    // denials, the newest first
  std::vector<std::string> missing;  // "who was denied: permission denied": what could not be read
  absl::Time at;                     // when it was asked for
};

class TopFetch {
 public:
  static constexpr absl::Duration kRecent = absl::Minutes(5);

  // The connection must outlive it.
  TopFetch(Connection& connection, const std::string& target);
  // Cancels what is under way, and waits for that.
  ~TopFetch();
  TopFetch(const TopFetch&) = delete;
  TopFetch& operator=(const TopFetch&) = delete;

  // Does nothing while a fetch is under way. The log, which costs the server more, is read every
  // five seconds at most.
  void Start(absl::Time now);
  // Readable from when the fetch is done until it is taken.
  int ready_fd() const { return ready_.number(); }
  // Waits until the fetch that was started is done. The error is the first that any call met
  // without which there is nothing to show.
  absl::StatusOr<TopAnswers> Take();

 private:
  struct Round;

  void AskForStatus(Round& round);
  void AskForOverrides(Round& round);
  void AskForLog(Round& round);

  Connection& connection_;
  const std::string target_;
  const FileDescriptor ready_;  // an eventfd
  std::unique_ptr<Round> round_;
  absl::Time log_at_ = absl::InfinitePast();  // when the log was asked for last
  v1::QueryThrottleLogResponse denied_;       // what it said then
  v1::QueryThrottleLogResponse checks_;
  std::map<std::string, std::string> missing_;  // why each is
};

}  // namespace headgate::cli
