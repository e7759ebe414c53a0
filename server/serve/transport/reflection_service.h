// grpc.reflection.v1alpha: which services there are, and what their messages look like, from what
// is compiled in.
//
// Runs on gRPC's threads; a stream occupies one for as long as it lasts, so there are only so many.
//
// Set up before the server starts; thread-safe from then on.
//
//   ReflectionService reflection;
//   reflection.SetServices({"headgate.v1.ThrottlerService"});

#pragma once

#include <grpc/reflection/v1alpha/reflection.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/serve/transport/service.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

class ReflectionService final : public Service {
 public:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  enum class Plaintext { kAnswered, kRefused };
  // Whether a caller may have an answer.
  using Admission = std::function<grpc::Status(grpc::ServerContext&)>;
  static grpc::Status AdmitEverybody(grpc::ServerContext& /*context*/) { return grpc::Status(); }

  explicit ReflectionService(Plaintext plaintext, Admission admission = AdmitEverybody);

  void SetServices(std::vector<std::string> names) { services_ = std::move(names); }

 private:
  using Stream = grpc::ServerReaderWriter<Response, Decoded<Request>>;

  grpc::Status Serve(grpc::ServerContext& context, Stream& stream);
  void Answer(const Request& request, Response& response) const;

  const Plaintext plaintext_;
  const Admission admission_;
  std::vector<std::string> services_;
  std::atomic<int> streams_ = 0;
};

}  // namespace headgate::transport
