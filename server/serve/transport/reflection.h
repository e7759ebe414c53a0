// Puts reflection into a server that is built.
//
// As a plugin, because only those learn which services the server has in the end.
//
//   builder.SetOption(std::make_unique<ReflectionOption>(
//       std::make_shared<ReflectionService>(ReflectionService::Plaintext::kAnswered)));

#pragma once

#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <utility>
#include <vector>

#include "server/serve/transport/reflection_service.h"

namespace headgate::transport {

class ReflectionOption final : public grpc::ServerBuilderOption {
 public:
  explicit ReflectionOption(std::shared_ptr<ReflectionService> service)
      : service_(std::move(service)) {}

  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override;

 private:
  const std::shared_ptr<ReflectionService> service_;
};

}  // namespace headgate::transport
