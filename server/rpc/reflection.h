// Whether a server tells clients which services it has.
//
// gRPC's plugin adds itself to every server of a process that it is linked into. This option takes
// it out, and puts one in where it is wanted.
//
//   builder.SetOption(std::make_unique<ReflectionOption>(ReflectionOption::Reflection::kOn));

#ifndef HEADGATE_SERVER_RPC_REFLECTION_H_
#define HEADGATE_SERVER_RPC_REFLECTION_H_

#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <vector>

namespace headgate::rpc {

class ReflectionOption final : public grpc::ServerBuilderOption {
 public:
  enum class Reflection { kOff, kOn };

  explicit ReflectionOption(Reflection reflection) : reflection_(reflection) {}

  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override;

 private:
  const Reflection reflection_;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_REFLECTION_H_
