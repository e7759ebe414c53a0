#include "server/serve/peers/question_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serve/peers/decider.h"
#include "server/serve/peers/forwarded_evidence.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/transport/error_status.h"

namespace headgate::peers {
namespace {

using peer::v1::AskRequest;
using peer::v1::AskResponse;
using peer::v1::FollowOverridesRequest;
using peer::v1::FollowOverridesResponse;
using peer::v1::KeepRequest;
using peer::v1::KeepResponse;
using peer::v1::MeasureRequest;
using peer::v1::MeasureResponse;

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

QuestionService::QuestionService(Answers answers) : answers_(std::move(answers)) {
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
        const absl::Status followed = answers_.follow(request.revision());
        if (followed.ok()) return grpc::Status();
        return transport::Failure(absl::StatusCode::kUnavailable, "NOT_IN_FORCE",
                                  std::string(followed.message()));
      });
  AddSync<KeepRequest, KeepResponse>(
      "/headgate.peer.v1.QuestionService/Keep",
      [this](grpc::ServerContext& context, const KeepRequest& request, KeepResponse& /*response*/) {
        if (grpc::Status peer = MustBePeer(context); !peer.ok()) return peer;
        const absl::Status agreed = answers_.agree(request);
        if (agreed.ok()) return grpc::Status();
        return transport::Failure(absl::StatusCode::kFailedPrecondition, "DOES_NOT_AGREE",
                                  std::string(agreed.message()));
      });
  AddSync<MeasureRequest, MeasureResponse>(
      "/headgate.peer.v1.QuestionService/Measure",
      [this](grpc::ServerContext& context, const MeasureRequest& request,
             MeasureResponse& response) {
        if (grpc::Status peer = MustBePeer(context); !peer.ok()) return peer;
        const absl::StatusOr<cluster::Offer> tried = answers_.try_to_measure(request.target());
        if (!tried.ok()) {
          return transport::Failure(absl::StatusCode::kNotFound, "NO_TARGET",
                                    std::string(tried.status().message()));
        }
        // The numbers are the same.
        response.set_measured(static_cast<headgate::v1::MemberTarget::Measured>(tried->measures));
        response.set_why(tried->why);
        return grpc::Status();
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
