// The services of one server, called one at a time.
//
// An answer is waited for no longer than the timeout. Errors keep the RPC's code, and their message
// is a line for a person that says which server did not answer, and why. A server that answered
// that it cannot do it now is Aborted: another failure than one that did not answer.
//
// Thread-safe.
//
//   Connection connection(globals);
//   absl::StatusOr<v1::CheckResponse> response = connection.Check(request);

#ifndef HEADGATE_CLIENT_CLI_CONNECTION_H_
#define HEADGATE_CLIENT_CLI_CONNECTION_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/channel_source.h"
#include "client/cli/arguments.h"

namespace headgate::cli {

class Connection {
 public:
  // An address without a port takes Headgate's, 8081. The time says when to look at files again.
  explicit Connection(const Globals& globals,
                      const std::shared_ptr<client::TimeSource>& time = client::NewRealTime());

  absl::StatusOr<v1::CheckResponse> Check(const v1::CheckRequest& request);
  absl::StatusOr<v1::ReportResponse> Report(const v1::ReportRequest& request);
  absl::StatusOr<v1::ExplainResponse> Explain(const v1::ExplainRequest& request);
  absl::StatusOr<v1::GetStatusResponse> GetStatus(const v1::GetStatusRequest& request);

  absl::StatusOr<v1::QueryThrottleLogResponse> QueryThrottleLog(
      const v1::QueryThrottleLogRequest& request);
  absl::StatusOr<v1::ListThrottledIntervalsResponse> ListThrottledIntervals(
      const v1::ListThrottledIntervalsRequest& request);
  absl::StatusOr<v1::ListDenialsResponse> ListDenials(const v1::ListDenialsRequest& request);
  absl::StatusOr<v1::ReplayThrottleLogResponse> ReplayThrottleLog(
      const v1::ReplayThrottleLogRequest& request);

  const std::string& address() const { return address_; }

  // For calls of another kind than those above: the channel of the certificates that are valid now.
  std::shared_ptr<grpc::Channel> channel() const;
  absl::Duration timeout() const { return globals_.timeout; }
  absl::Status ToStatus(const grpc::Status& status) const;

 private:
  template <typename Response, typename Stub, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request);

  const Globals globals_;
  const std::string address_;
  const std::shared_ptr<client::internal::ChannelSource> channels_;  // null as OpenChannels says
};

// "host" becomes "host:8081"; what has a port, or a scheme as unix:/path has, stays.
std::string WithPort(const std::string& address);
// Whether gRPC could find a server by it, WithPort: it would take a port that is out of range for
// another one, and no port for that of HTTPS. What follows a scheme is gRPC's to judge.
bool IsAddress(const std::string& address);

// The parts of a Connection, for what makes its calls by other means.
client::ConnectionOptions OptionsOf(const Globals& globals);
// Null where a file cannot be read: client::internal::CheckFiles says why, and has been asked.
std::shared_ptr<client::internal::ChannelSource> OpenChannels(
    const Globals& globals,
    const std::shared_ptr<client::TimeSource>& time = client::NewRealTime());
// One whose calls fail where a file cannot be read.
std::shared_ptr<grpc::Channel> OpenChannel(const Globals& globals);
void SetDeadline(grpc::ClientContext& context, absl::Duration timeout);
// The error of a call, as above.
absl::Status FromCall(const grpc::Status& status, const std::string& address,
                      absl::Duration timeout);
// The error as a line for a person, where it means that the server did not answer.
absl::Status Explained(const absl::Status& status, const std::string& address,
                       absl::Duration timeout);

// The error again; where TLS is why the server could not be reached, it says so.
absl::Status WithTlsReason(absl::Status status, const Globals& globals);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_CONNECTION_H_
