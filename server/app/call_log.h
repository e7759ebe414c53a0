// The lines of the log that callers cause: calls that failed, calls that were slow, and what
// operators changed. Each has the request's id, the method and the peer.
//
// A failure of the server's is an error; being full is a warning; what a caller did wrong, or is
// told to try again, is information. A caller that hung up is not told of. Each kind of line is
// limited, and says how many lines were left out before it.
//
// Thread-safe.
//
//   CallLog log(clock);
//   transport::Calls calls(clock, seed, log);

#pragma once

#include <cstdint>

#include "common/clock.h"
#include "server/app/log_line_limit.h"
#include "server/app/server_log.h"
#include "server/serve/transport/calls.h"

namespace headgate::app {

class CallLog final : public transport::CallListener {
 public:
  // The clock outlives this.
  explicit CallLog(Clock& clock) : clock_(clock) {}

  void OnFailed(const Call& call, const grpc::Status& status) override;
  void OnSlow(const Call& call, absl::Duration took) override;
  void OnUnguarded(const Call& call, transport::Encryption encryption) override;
  void OnChange(const Call& call, std::string_view event, Fields fields) override;

  // Lines that were left out.
  int64_t suppressed() const;

 private:
  using Write = void (*)(std::string_view, LogFields);

  void WriteLine(LogLineLimit& limit, Write write, std::string_view event, const Call& call,
                 Fields fields);

  Clock& clock_;
  LogLineLimit failed_{{.at_once = 50, .per_second = 10}};
  LogLineLimit full_{{}};
  LogLineLimit refused_{{}};
  LogLineLimit slow_{{}};
  LogLineLimit changes_{{.at_once = 200, .per_second = 50}};
};

}  // namespace headgate::app
