// Waits for permits with the SDK, and keeps the server's newest answer: it is what a command
// prints, and it tells work that was denied from a server that was never reached.
//
// Thread-compatible.
//
//   auto waiter = PermitWaiter::Create(globals, OnUnreachable::kWait);
//   absl::StatusOr<client::Permit> permit = (*waiter)->Wait(request, absl::Minutes(5));
//   if (!permit.ok() && (*waiter)->last_answer()) ...  // denied

#pragma once

#include <headgate/client.h>
#include <headgate/v1/throttler_service.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/arguments/arguments.h"

namespace headgate::cli {

class PermitWaiter {
 public:
  // Told once, on the caller's thread, why a Wait has to go on.
  using OnWaiting = std::function<void(std::string_view why)>;

  static absl::StatusOr<std::unique_ptr<PermitWaiter>> Create(const Globals& globals,
                                                              OnUnreachable on_unreachable,
                                                              OnWaiting on_waiting = nullptr);

  // Errors are Client::CheckOrWait's; where no answer came, worded as Connection words that.
  absl::StatusOr<client::Permit> Wait(const client::CheckRequest& request, absl::Duration most);

  // What the server answered to the newest Check; absent where that failed.
  std::optional<v1::CheckResponse> last_answer() const;
  // Why the newest call with reports failed; OK: it did not, or there was none.
  absl::Status last_report_error() const;

  client::Client& client() { return *client_; }

 private:
  class Recorder;

  PermitWaiter(const Globals& globals, std::shared_ptr<Recorder> recorder,
               std::unique_ptr<client::Client> client);

  const Globals globals_;
  const std::shared_ptr<Recorder> recorder_;
  const std::unique_ptr<client::Client> client_;
};

}  // namespace headgate::cli
