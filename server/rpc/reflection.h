// Tells clients which services a server has: grpc.reflection.v1alpha, for callers that are known.
//
// gRPC's own plugin answers anybody, and gives a thread to each stream for as long as that lasts,
// so that a few idle clients could keep operators out. Here streams are few, and each begins with a
// look at who calls.
//
// An option takes part in building the server and is gone then; the service stays with the server.
//
//   builder.SetOption(std::make_unique<ReflectionOption>(guard));

#ifndef HEADGATE_SERVER_RPC_REFLECTION_H_
#define HEADGATE_SERVER_RPC_REFLECTION_H_

#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <memory>
#include <vector>

namespace headgate::access {
class AccessGuard;
}

namespace headgate::rpc {

class ReflectionOption final : public grpc::ServerBuilderOption {
 public:
  static constexpr int kMostStreams = 8;

  // Null: for everybody. The guard outlives the server. Where plaintext is for probes only it is
  // refused.
  ReflectionOption(access::AccessGuard* guard, bool requires_tls)
      : guard_(guard), requires_tls_(requires_tls) {}

  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override;

 private:
  access::AccessGuard* const guard_;
  const bool requires_tls_;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_REFLECTION_H_
