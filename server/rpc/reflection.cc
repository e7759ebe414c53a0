#include "server/rpc/reflection.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>

namespace headgate::rpc {

void ReflectionOption::UpdatePlugins(
    std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) {
  auto plugin = std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
  std::erase_if(*plugins, [&](const auto& other) { return other->name() == plugin->name(); });
  if (reflection_ == Reflection::kOn) plugins->push_back(std::move(plugin));
}

}  // namespace headgate::rpc
