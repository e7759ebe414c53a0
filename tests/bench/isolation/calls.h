// Calls over a connection of its own, whose outcome does not matter.
//
//   auto calls = std::make_shared<Calls>(server);
//   calls->Make(*calls->throttler, &v1::ThrottlerService::Stub::Check, request);

#pragma once

#include <grpcpp/grpcpp.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/bench/isolation/neighbours.h"
#include "tests/testing/own_channel.h"

namespace headgate::bench {

inline std::shared_ptr<grpc::Channel> ChannelTo(const AttackedServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  arguments.SetMaxReceiveMessageSize(-1);
  if (server.ca_file.empty()) {
    return OwnChannel(server.address, grpc::InsecureChannelCredentials(), arguments);
  }
  std::ostringstream authority;
  authority << std::ifstream(server.ca_file).rdbuf();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authority.str();
  return OwnChannel(server.address, grpc::SslCredentials(options), arguments);
}

inline void SetTwoSeconds(grpc::ClientContext& context) {
  context.set_deadline(gpr_time_from_seconds(2, GPR_TIMESPAN));
}

struct Calls {
  explicit Calls(const AttackedServer& server) : channel(ChannelTo(server)) {}

  template <typename Stub, typename Request, typename Response>
  Response Make(Stub& stub,
                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) const {
    grpc::ClientContext context;
    SetTwoSeconds(context);
    Response response;
    (void)(stub.*method)(&context, request, &response);
    return response;
  }

  const std::shared_ptr<grpc::Channel> channel;
  v1::ThrottlerService::Stub throttler{channel};
  v1::StatusService::Stub status{channel};
  v1::OverrideService::Stub overrides{channel};
  v1::ThrottleLogService::Stub log{channel};
};

}  // namespace headgate::bench
