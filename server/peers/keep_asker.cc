#include "server/peers/keep_asker.h"

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <headgate/peer/v1/question_service.grpc.pb.h>

#include <utility>

namespace headgate::peers {

struct KeepAsker::UnderWay {
  std::unique_ptr<peer::v1::QuestionService::Stub> stub;
  grpc::ClientContext context;
  peer::v1::KeepRequest request;
  peer::v1::KeepResponse response;
  Then then;
};

void KeepAsker::Ask(const std::string& address, const peer::v1::KeepRequest& request,
                    absl::Duration patience, Then then) {
  auto call = std::make_unique<UnderWay>();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_) {
      std::shared_ptr<grpc::Channel>& channel = channels_[address];
      if (channel == nullptr) channel = connect_(address);
      call->stub = peer::v1::QuestionService::NewStub(channel);
      ++under_way_;
    }
  }
  if (call->stub == nullptr) return then(false);
  call->request = request;
  call->then = std::move(then);
  call->context.set_deadline(
      gpr_time_from_millis(absl::ToInt64Milliseconds(patience), GPR_TIMESPAN));
  UnderWay* const owned = call.release();
  owned->stub->async()->Keep(&owned->context, &owned->request, &owned->response,
                             [this, owned](const grpc::Status& status) {
                               End(std::unique_ptr<UnderWay>(owned), status.ok());
                             });
}

void KeepAsker::End(std::unique_ptr<UnderWay> call, bool agrees) {
  call->then(agrees);
  call = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  --under_way_;
  ended_.notify_all();
}

void KeepAsker::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  closed_ = true;
  ended_.wait(lock, [this] { return under_way_ == 0; });
}

}  // namespace headgate::peers
