// The services of one server, called one at a time.
//
// Each call waits for its answer until the timeout at most. Errors keep the RPC's code, and their
// message is a line for a person that says which server did not answer, and why. Where a server
// answers that it cannot do something now, the error is Aborted, to tell it from no answer.
//
// Thread-safe.
//
//   Connection connection(globals);
//   absl::StatusOr<v1::CheckResponse> response =
//       connection.Call(&v1::ThrottlerService::Stub::Check, request);

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/channel_source.h"
#include "client/cli/arguments/arguments.h"

namespace headgate::cli {

// The parts of a Connection, for what makes its calls by other means.
client::ConnectionOptions OptionsOf(const Globals& globals);
// Null where a file cannot be read. Main has asked client::internal::CheckFiles before, which says
// why.
std::shared_ptr<client::internal::ChannelSource> OpenChannels(
    const Globals& globals,
    const std::shared_ptr<client::TimeSource>& time = client::NewRealTime());
void SetDeadline(grpc::ClientContext& context, absl::Duration timeout);
// The error as a line for a person, where it means that the server did not answer.
absl::Status DescribeUnreachable(const absl::Status& status, const std::string& address,
                                 absl::Duration timeout);

// The error again. Where the server could not be reached or did not answer, and a look at what is
// really there tells why, such as TLS or a port for HTTP/1, it says so.
absl::Status WithReason(absl::Status status, const Globals& globals);

class Connection {
 public:
  // An address without a port takes Headgate's, 8081. The time says when to look at files again.
  explicit Connection(const Globals& globals,
                      const std::shared_ptr<client::TimeSource>& time = client::NewRealTime());

  // One call; the method of the stub says of which service.
  template <typename Response, typename Stub, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    Stub stub(channel());
    grpc::ClientContext context;
    SetDeadline(context, timeout());
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return ToStatus(status);
    return response;
  }

  const std::string& address() const { return address_; }

  // For calls that do not wait here: the channel of the certificates that are valid now.
  std::shared_ptr<grpc::Channel> channel() const;
  absl::Duration timeout() const { return globals_.timeout; }
  // The error of such a call, as above.
  absl::Status ToStatus(const grpc::Status& status) const;

 private:
  const Globals globals_;
  const std::string address_;
  const std::shared_ptr<client::internal::ChannelSource> channels_;  // null as OpenChannels says
};

}  // namespace headgate::cli
