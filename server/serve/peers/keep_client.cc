#include "server/serve/peers/keep_client.h"

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <headgate/peer/v1/question_service.grpc.pb.h>

#include <utility>

namespace headgate::peers {

struct KeepClient::UnderWay {
  std::unique_ptr<peer::v1::QuestionService::Stub> stub;
  grpc::ClientContext context;
  Question question;
  peer::v1::KeepResponse response;
};

void KeepClient::Ask(Question question) {
  const std::shared_ptr<grpc::Channel> channel = connections_.ChannelTo(question.address);
  auto call = std::make_unique<UnderWay>();
  if (channel != nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_) {
      call->stub = peer::v1::QuestionService::NewStub(channel);
      ++under_way_;
    }
  }
  if (call->stub == nullptr) return question.then(false);
  call->context.set_deadline(
      gpr_time_from_millis(absl::ToInt64Milliseconds(question.patience), GPR_TIMESPAN));
  call->question = std::move(question);
  UnderWay* const owned = call.release();
  owned->stub->async()->Keep(&owned->context, &owned->question.request, &owned->response,
                             [this, owned](const grpc::Status& status) {
                               End(std::unique_ptr<UnderWay>(owned), status.ok());
                             });
}

void KeepClient::End(std::unique_ptr<UnderWay> call, bool agrees) {
  call->question.then(agrees);
  call = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  --under_way_;
  ended_.notify_all();
}

void KeepClient::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  closed_ = true;
  ended_.wait(lock, [this] { return under_way_ == 0; });
}

}  // namespace headgate::peers
