// Prints denials as they happen, until a signal ends it.
//
// A server that is away or was restarted is waited for. Denials are numbered by the server,
// whoever's they are: from the second round on it is asked for all of them, and what is missing
// between two rounds is said. Where the caller may not see them all, it goes on asking for those of
// one identity, and counts nothing. The more is denied, the sooner it asks again. For one thread.
//
//   const SignalInbox signals;  // before the connection, which has threads
//   return LogFollow(connection, signals, console, {.filter = filter}).Run();

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/console.h"
#include "client/cli/process/signal_inbox.h"
#include "client/token_retry.h"
#include "common/file_descriptor.h"

namespace headgate::cli {

class LogFollow {
 public:
  struct Options {
    v1::LogFilter filter;
    int first = 10;  // denials of before, to begin with
    absl::Duration interval = absl::Seconds(1);
    absl::TimeZone zone;
  };

  // Connection and signals outlive it.
  LogFollow(Connection& connection, const SignalInbox& signals, const Console& console,
            const Options& options);
  LogFollow(const LogFollow&) = delete;
  LogFollow& operator=(const LogFollow&) = delete;

  // Returns the exit status.
  int Run();

 private:
  using Answer = absl::StatusOr<v1::ListDenialsResponse>;

  // The signal that ended the wait for the answer.
  std::optional<int> Ask(Answer& answer);
  v1::ListDenialsRequest NextRequest() const;
  // Whether the follower goes on.
  bool Handle(const Answer& answer, int& exit_status);
  bool MayNarrow() const;
  bool IsFinal(const absl::Status& status);
  // Before the next round.
  absl::Duration Pause() const;
  void Show(const v1::ListDenialsResponse& answer);
  // Says which numbers above `seen` are missing, and decides when to ask again.
  void TellMissed(const v1::ListDenialsResponse& answer, int64_t seen);
  void Print(const v1::ListDenialsResponse& oldest_first);

  Connection& connection_;
  const SignalInbox& signals_;
  const Console& console_;
  const Options options_;
  const FileDescriptor done_;  // an eventfd: the call has ended

  bool answered_ = false;  // ever
  bool away_ = false;      // the server, as of the newest call
  bool restarted_ = false;
  bool counting_ = false;  // the newest of all denials is known, whoever's it is
  bool only_own_ = false;  // the caller may not see those of others
  bool titled_ = false;    // CSV: the titles are printed
  client::internal::TokenRetry token_retry_;
  // The newest that was seen. It is asked for again: another one under its number, or none, comes
  // from a server that began to count anew.
  int64_t newest_number_ = 0;
  absl::Duration pause_ = options_.interval;  // before the next round, if none fails
  absl::Time newest_at_ = absl::InfinitePast();
};

}  // namespace headgate::cli
