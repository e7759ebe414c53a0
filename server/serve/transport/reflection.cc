#include "server/serve/transport/reflection.h"

#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/impl/server_initializer.h>

#include <string>

namespace headgate::transport {
namespace {

class Plugin final : public grpc::ServerBuilderPlugin {
 public:
  explicit Plugin(std::shared_ptr<ReflectionService> service) : service_(std::move(service)) {}

  std::string name() override { return "headgate_reflection"; }
  void InitServer(grpc::ServerInitializer* server) override { server->RegisterService(service_); }
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
  plugins->push_back(std::make_unique<Plugin>(service_));
}

}  // namespace headgate::transport
