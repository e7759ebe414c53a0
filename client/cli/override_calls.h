// OverrideService of one server. Lists are read to their end, page after page.
//
// Errors are Connection's; a server that answered that it cannot do it is ABORTED, which is another
// failure than one that did not answer. Thread-compatible.

#ifndef HEADGATE_CLIENT_CLI_OVERRIDE_CALLS_H_
#define HEADGATE_CLIENT_CLI_OVERRIDE_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/override_service.grpc.pb.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/arguments.h"

namespace headgate::cli {

// Whether it has a say on this target; none: on any.
bool IsOn(const v1::Override& override, const std::string& target);

class OverrideCalls {
 public:
  explicit OverrideCalls(const Globals& globals);

  absl::StatusOr<v1::CreateOverrideResponse> Create(const v1::CreateOverrideRequest& request);
  absl::StatusOr<v1::DeleteOverrideResponse> Delete(const v1::DeleteOverrideRequest& request);
  absl::StatusOr<v1::ListOverridesResponse> List(v1::ListOverridesRequest request);
  // At most so many; with a target, of overrides that have a say there.
  absl::StatusOr<v1::ListOverrideEventsResponse> Events(v1::ListOverrideEventsRequest request,
                                                        const std::string& target, int most);

 private:
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (v1::OverrideService::Stub::*method)(
                                    grpc::ClientContext*, const Request&, Response*),
                                const Request& request);

  const Globals globals_;
  const std::unique_ptr<v1::OverrideService::Stub> stub_;
};

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_OVERRIDE_CALLS_H_
