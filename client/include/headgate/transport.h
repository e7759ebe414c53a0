// Transport: the calls that a Client makes, by gRPC or by whatever else implements this.
//
// Implementations are thread-safe, and never retry, wait or batch by themselves: the Client does.
// UNAVAILABLE and DEADLINE_EXCEEDED mean that Headgate could not be reached; after them a call may
// have been carried out or not. CANCELLED: `stop` was requested; a call that the server cut is
// UNAVAILABLE. Any other status is an answer of the server's.
//
//   auto client = Client::Create(options, std::make_shared<MyTransport>());

#ifndef HEADGATE_TRANSPORT_H_
#define HEADGATE_TRANSPORT_H_

#include <headgate/check.h>
#include <headgate/tls.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace headgate::client {

// Whose leases an order may take back.
struct LeaseWatch {
  std::string identity = {};
  std::string target = {};
  std::string pattern = {};
  std::map<std::string, std::string> tags = {};
  uint64_t state = 0;  // the newest that is known; 0: none
  absl::Duration max_wait = {};
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Returns within `timeout`, and soon after `stop` is requested. A denial is an answer.
  virtual absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                                       const std::stop_token& stop) = 0;

  // Settles at most kMaxReports permits; one result for each, in order.
  virtual absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) = 0;

  // Waits until an order takes leases back, max_wait at most, and returns the state of what decides
  // about them: what was granted in another one (GrantedLease::state) is to be given back. At once
  // where none is known. UNIMPLEMENTED, as here: this transport, or the server, does not know.
  virtual absl::StatusOr<uint64_t> WatchLease(const LeaseWatch& watch, absl::Duration timeout,
                                              const std::stop_token& stop);

  static constexpr size_t kMaxReports = 1000;
};

// The transport that a Client uses by itself: one channel to `address`, "host:port" or any other
// name that gRPC takes. Connects when it is first used, and again whenever that is lost.
std::shared_ptr<Transport> NewGrpcTransport(const std::string& address);
// The same, over TLS if `options` say so. InvalidArgument: a file cannot be read, or is not what it
// should be; a certificate without its key; a token without TLS.
absl::StatusOr<std::shared_ptr<Transport>> NewGrpcTransport(const ConnectionOptions& options);

// A status may say when to try again, as a server that is overloaded does.
void SetRetryDelay(absl::Duration delay, absl::Status& status);
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

}  // namespace headgate::client

#endif  // HEADGATE_TRANSPORT_H_
