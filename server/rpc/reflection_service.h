// grpc.reflection.v1alpha: which services there are, and what their messages look like, from what
// is compiled in.
//
// Runs on gRPC's threads; a stream occupies one for as long as it lasts, so there are only so many.
//
// Set up before the server starts; thread-safe from then on.
//
//   ReflectionService reflection;
//   reflection.SetServices({"headgate.v1.ThrottlerService"});

#ifndef HEADGATE_SERVER_RPC_REFLECTION_SERVICE_H_
#define HEADGATE_SERVER_RPC_REFLECTION_SERVICE_H_

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <atomic>
#include <string>
#include <vector>

#include "server/access/access_control.h"

namespace headgate::rpc {

class ReflectionService final : public grpc::reflection::v1alpha::ServerReflection::Service {
 public:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  enum class Plaintext { kAnswered, kRefused };
  // Whoever access control, which outlives this, does not know gets no answer; null: everybody
  // does.
  explicit ReflectionService(Plaintext plaintext, access::AccessControl* access = nullptr)
      : plaintext_(plaintext), access_(access) {}

  void SetServices(std::vector<std::string> names) { services_ = std::move(names); }

  grpc::Status ServerReflectionInfo(grpc::ServerContext* context,
                                    grpc::ServerReaderWriter<Response, Request>* stream) override;

 private:
  void Answer(const Request& request, Response& response) const;

  const Plaintext plaintext_;
  access::AccessControl* const access_;
  std::vector<std::string> services_;
  std::atomic<int> streams_ = 0;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_REFLECTION_SERVICE_H_
