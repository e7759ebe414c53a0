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

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace headgate::transport {

class ReflectionService final : public grpc::reflection::v1alpha::ServerReflection::Service {
 public:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  enum class Plaintext { kAnswered, kRefused };
  // Whether a caller may have an answer; null: everybody may.
  using Admission = std::function<grpc::Status(grpc::ServerContext&)>;
  explicit ReflectionService(Plaintext plaintext, Admission admission = nullptr)
      : plaintext_(plaintext), admission_(std::move(admission)) {}

  void SetServices(std::vector<std::string> names) { services_ = std::move(names); }

  grpc::Status ServerReflectionInfo(grpc::ServerContext* context,
                                    grpc::ServerReaderWriter<Response, Request>* stream) override;

 private:
  void Answer(const Request& request, Response& response) const;

  const Plaintext plaintext_;
  const Admission admission_;
  std::vector<std::string> services_;
  std::atomic<int> streams_ = 0;
};

}  // namespace headgate::transport
