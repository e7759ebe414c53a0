// A Check by somebody who comes for the first time, over a connection of its own.
//
//   EXPECT_TRUE(CheckOnce(server->address()).ok());

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <string>

namespace headgate {

// In plaintext.
inline grpc::Status CheckOnce(const std::string& address, int seconds = 20) {
  const auto stub = v1::ThrottlerService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  v1::CheckRequest request;
  request.set_identity("job:etl");
  v1::CheckResponse response;
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(seconds, GPR_TIMESPAN));
  return stub->Check(&context, request, &response);
}

}  // namespace headgate
