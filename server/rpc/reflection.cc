#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>
#include <grpcpp/impl/server_initializer.h>

#include <atomic>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "server/rpc/access_status.h"
#include "server/rpc/call_origin.h"
#include "server/rpc/errors.h"

namespace headgate::rpc {
namespace {

namespace reflection = grpc::reflection::v1alpha;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

// The answers of one stream.
class Answers {
 public:
  explicit Answers(const std::vector<std::string>& services) : services_(services) {}

  void Fill(const reflection::ServerReflectionRequest& request,
            reflection::ServerReflectionResponse& response) {
    response.set_valid_host(request.host());
    *response.mutable_original_request() = request;
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    using Request = reflection::ServerReflectionRequest;
    switch (request.message_request_case()) {
      case Request::kListServices:
        for (const std::string& name : services_) {
          response.mutable_list_services_response()->add_service()->set_name(name);
        }
        return;
      case Request::kFileByFilename:
        return FillFile(pool.FindFileByName(request.file_by_filename()), response);
      case Request::kFileContainingSymbol:
        return FillFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
      case Request::kFileContainingExtension:
      case Request::kAllExtensionNumbersOfType:
        return FillError(grpc::StatusCode::NOT_FOUND, "there are no extensions", response);
      default:
        return FillError(grpc::StatusCode::INVALID_ARGUMENT, "nothing is asked", response);
    }
  }

 private:
  static void FillError(grpc::StatusCode code, const char* what,
                        reflection::ServerReflectionResponse& response) {
    response.mutable_error_response()->set_error_code(static_cast<int>(code));
    response.mutable_error_response()->set_error_message(what);
  }

  void FillFile(const FileDescriptor* file, reflection::ServerReflectionResponse& response) {
    if (file == nullptr) {
      return FillError(grpc::StatusCode::NOT_FOUND, "there is no such file or symbol", response);
    }
    auto& files = *response.mutable_file_descriptor_response();
    // What was asked for is told again, if it is asked for again.
    sent_.erase(file);
    AddWithImports(*file, files);
  }

  void AddWithImports(const FileDescriptor& file, reflection::FileDescriptorResponse& files) {
    if (!sent_.insert(&file).second) return;
    google::protobuf::FileDescriptorProto proto;
    file.CopyTo(&proto);
    proto.SerializeToString(files.add_file_descriptor_proto());
    for (int i = 0; i < file.dependency_count(); ++i) AddWithImports(*file.dependency(i), files);
  }

  const std::vector<std::string>& services_;
  absl::flat_hash_set<const FileDescriptor*> sent_;
};

// Thread-safe once the services are set.
class ReflectionService final : public reflection::ServerReflection::Service {
 public:
  ReflectionService(access::AccessGuard* guard, bool requires_tls)
      : guard_(guard), requires_tls_(requires_tls) {}

  void SetServices(std::vector<std::string> services) { services_ = std::move(services); }

  grpc::Status ServerReflectionInfo(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<reflection::ServerReflectionResponse,
                               reflection::ServerReflectionRequest>* stream) override {
    if (requires_tls_ && IsPlaintext(*context)) return HealthPortError();
    const access::Caller* caller = nullptr;
    grpc::Status known = Identify(guard_, *context, nullptr, caller);
    if (!known.ok()) return known;
    // relaxed, here and below: nothing is read on the strength of this number.
    const bool room =
        streams_.fetch_add(1, std::memory_order_relaxed) < ReflectionOption::kMostStreams;
    if (room) AnswerAll(*stream);
    streams_.fetch_sub(1, std::memory_order_relaxed);
    return room ? grpc::Status()
                : Overloaded("TOO_MANY_STREAMS", "no room for another reflection stream");
  }

 private:
  void AnswerAll(grpc::ServerReaderWriter<reflection::ServerReflectionResponse,
                                          reflection::ServerReflectionRequest>& stream) const {
    Answers answers(services_);
    for (reflection::ServerReflectionRequest request; stream.Read(&request);) {
      reflection::ServerReflectionResponse response;
      answers.Fill(request, response);
      if (!stream.Write(response)) return;
    }
  }

  access::AccessGuard* const guard_;
  const bool requires_tls_;
  std::vector<std::string> services_;
  std::atomic<int> streams_{0};
};

class ReflectionPlugin final : public grpc::ServerBuilderPlugin {
 public:
  ReflectionPlugin(access::AccessGuard* guard, bool requires_tls)
      : service_(std::make_shared<ReflectionService>(guard, requires_tls)) {}

  std::string name() override { return "headgate reflection"; }
  void InitServer(grpc::ServerInitializer* server) override { server->RegisterService(service_); }
  // Every service is registered by now, and no call has come.
  void Finish(grpc::ServerInitializer* server) override {
    service_->SetServices(*server->GetServiceList());
  }
  void ChangeArguments(const std::string& /*name*/, void* /*value*/) override {}
  bool has_sync_methods() const override { return true; }

 private:
  const std::shared_ptr<ReflectionService> service_;
};

}  // namespace

void ReflectionOption::UpdatePlugins(
    std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) {
  plugins->push_back(std::make_unique<ReflectionPlugin>(guard_, requires_tls_));
}

}  // namespace headgate::rpc
