// A channel with a connection of its own, which gRPC otherwise shares between channels to one
// address. It calls once what is called once.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace headgate {

inline std::shared_ptr<grpc::Channel> OwnChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials =
        grpc::InsecureChannelCredentials(),
    grpc::ChannelArguments arguments = {}) {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// On this machine.
inline std::shared_ptr<grpc::Channel> OwnChannel(int port) {
  return OwnChannel(absl::StrCat("127.0.0.1:", port));
}

}  // namespace headgate
