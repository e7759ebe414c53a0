// KeepAsker: asks other servers whether this one may decide on while the store is away.
//
// Thread-safe. Calls never block but for Close, which waits for answers that are on their way: as
// long as the patience of what was asked last.
//
//   KeepAsker asker(connect);
//   asker.Ask("10.0.0.2:8081", request, absl::Milliseconds(600), [](bool agrees) { ... });

#pragma once

#include <grpcpp/channel.h>
#include <headgate/peer/v1/question_service.pb.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace headgate::peers {

class KeepAsker {
 public:
  // A channel to this address, which proves who calls.
  using Connect = std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;
  using Then = std::function<void(bool agrees)>;

  explicit KeepAsker(Connect connect) : connect_(std::move(connect)) {}
  ~KeepAsker() { Close(); }
  KeepAsker(const KeepAsker&) = delete;
  KeepAsker& operator=(const KeepAsker&) = delete;

  // `then` is called once: false where it does not agree, or does not answer in time.
  void Ask(const std::string& address, const peer::v1::KeepRequest& request,
           absl::Duration patience, Then then);
  // All that was asked has been answered, and nothing is asked any more.
  void Close();

 private:
  struct UnderWay;

  void End(std::unique_ptr<UnderWay> call, bool agrees);

  const Connect connect_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool closed_ = false;
  // None is let go before the end: gRPC cannot lose its last one in a callback, where calls end.
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;
  int under_way_ = 0;
};

}  // namespace headgate::peers
