// Waits for one call of gRPC's callback API.
//
// That API and not blocking stubs, because gRPC's threads then watch the connection between calls
// too: with blocking calls that fail at once it would be noticed up to 10 s late that a server is
// back. Thread-safe.
//
//   grpc::Status status = WaitForCall([&](auto done) {
//     stub->async()->Check(&context, &request, &response, std::move(done));
//   });

#pragma once

#include <grpcpp/support/status.h>

#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/notification.h"

namespace headgate::client::internal {

// `begin` begins the call, and is given what to call at its end.
inline grpc::Status WaitForCall(absl::FunctionRef<void(std::function<void(grpc::Status)>)> begin) {
  grpc::Status status;
  absl::Notification done;
  begin([&](const grpc::Status& result) {
    status = result;
    done.Notify();
  });
  done.WaitForNotification();
  return status;
}

}  // namespace headgate::client::internal
