#include "server/peers/question_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/peers/decider.h"
#include "server/peers/forwarded_evidence.h"
#include "server/rpc/access_status.h"
#include "server/rpc/call_evidence.h"
#include "server/transport/error_status.h"

namespace headgate::peers {
namespace {

using peer::v1::AskRequest;
using peer::v1::AskResponse;
using peer::v1::FollowOverridesRequest;
using peer::v1::FollowOverridesResponse;
using peer::v1::KeepRequest;
using peer::v1::KeepResponse;

// As the handlers know it, of the caller of another server.
class AskedContext final : public transport::CallContext {
 public:
  AskedContext(grpc::ServerContext& context, const std::string& peer)
      : grpc_(context), peer_(peer) {}

  std::string Peer() const override { return peer_; }
  std::string_view RequestId() const override { return grpc_.RequestId(); }
  void SetRequestId(const std::string& id) override { grpc_.SetRequestId(id); }
  bool IsCancelled() const override { return grpc_.IsCancelled(); }

 private:
  transport::GrpcCallContext grpc_;
  const std::string& peer_;
};

}  // namespace

QuestionService::QuestionService(Follow follow, Agree agree)
    : follow_(std::move(follow)), agree_(std::move(agree)) {
  AddSync<AskRequest, AskResponse>(
      "/headgate.peer.v1.QuestionService/Ask",
      [this](grpc::ServerContext& context, const AskRequest& request, AskResponse& response) {
        return Ask(context, request, response);
      });
  AddSync<FollowOverridesRequest, FollowOverridesResponse>(
      "/headgate.peer.v1.QuestionService/FollowOverrides",
      [this](grpc::ServerContext& context, const FollowOverridesRequest& request,
             FollowOverridesResponse& /*response*/) {
        if (grpc::Status peer = MustBePeer(context); !peer.ok()) return peer;
        const absl::Status followed = follow_(request.revision());
        if (followed.ok()) return grpc::Status();
        return transport::Failure(absl::StatusCode::kUnavailable, "NOT_IN_FORCE",
                                  std::string(followed.message()));
      });
  AddSync<KeepRequest, KeepResponse>(
      "/headgate.peer.v1.QuestionService/Keep",
      [this](grpc::ServerContext& context, const KeepRequest& request, KeepResponse& /*response*/) {
        if (grpc::Status peer = MustBePeer(context); !peer.ok()) return peer;
        const absl::Status agreed = agree_(request);
        if (agreed.ok()) return grpc::Status();
        return transport::Failure(absl::StatusCode::kFailedPrecondition, "DOES_NOT_AGREE",
                                  std::string(agreed.message()));
      });
}

void QuestionService::Use(const rpc::Api& api) {
  api_ = &api;
  for (const rpc::Method& method : api.methods()) methods_.emplace(method.path, &method);
}

grpc::Status QuestionService::MustBePeer(grpc::ServerContext& context) const {
  const auto refused = api_->access().MustBePeer(rpc::CallEvidence(context));
  return refused.has_value() ? rpc::ToGrpcStatus(*refused) : grpc::Status();
}

grpc::Status QuestionService::Ask(grpc::ServerContext& context, const AskRequest& request,
                                  AskResponse& response) {
  if (grpc::Status peer = MustBePeer(context); !peer.ok()) return peer;
  const auto found = methods_.find(request.method());
  if (found == methods_.end()) {
    return transport::Failure(absl::StatusCode::kUnimplemented, "UNKNOWN_CALL",
                              "a newer peer asks what this server does not know");
  }
  const rpc::Method& method = *found->second;
  const std::unique_ptr<google::protobuf::Message> asked(method.request->New());
  const std::unique_ptr<google::protobuf::Message> answer(method.response->New());
  if (!asked->ParseFromString(request.request())) return transport::MalformedError(*asked);
  const ForwardedEvidence evidence(request.caller(), request.peer());
  AskedContext call(context, request.peer());
  const grpc::Status status = method.run(call, evidence, *asked, *answer);
  if (status.ok()) {
    answer->SerializeToString(response.mutable_response());
  } else {
    SetError(status, *response.mutable_error());
  }
  return grpc::Status();
}

}  // namespace headgate::peers
