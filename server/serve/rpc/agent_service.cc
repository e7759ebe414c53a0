#include "server/serve/rpc/agent_service.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/agent_proto.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/stream_route.h"

namespace headgate::rpc {
namespace {

// One agent has one stream; there are as many as targets, on as many machines.
constexpr transport::StreamLimits kStreams = {.all = 1024, .of_one_caller = 32};

constexpr size_t kMaxAgentBytes = 64;

grpc::Status RefusalOf(const absl::Status& status) {
  if (!absl::IsAlreadyExists(status)) return ToGrpcStatus(status, {});
  return transport::Failure(absl::StatusCode::kAlreadyExists, "OTHER_AGENT",
                            std::string(status.message()));
}

}  // namespace

AgentService::AgentService(Sources sources)
    : on_(std::move(sources)),
      watch_(AddAsync("/headgate.v1.AgentService/Watch", Kind::BIDI_STREAMING)),
      streams_(kStreams, streams_gauge_) {}

void AgentService::Open(transport::ServingLoop& loop) {
  loop.Own(std::make_unique<transport::StreamRoute<v1::WatchRequest, v1::WatchResponse>>(
      *this,
      transport::StreamRouteOptions{
          .method = watch_,
          .loop = loop,
          .count = streams_,
          .admission = [this](size_t /*thread*/, auto& context,
                              auto& name) { return Admit(context, name); },
          .calls = on_.calls,
          .name = "Watch",
          .on_end = [this](const grpc::ServerContext& context) { End(context); }},
      [this](size_t /*thread*/, auto& context, auto& request, auto& response) {
        return Watch(context, request, response);
      }));
}

// Agents on several machines may have one name, so that each address is counted by itself.
grpc::Status AgentService::Admit(grpc::ServerContext& context, std::string& name) const {
  const std::string peer = context.peer();
  name = peer.substr(0, peer.rfind(':'));
  return MayWatch(context);
}

grpc::Status AgentService::MayWatch(grpc::ServerContext& context) const {
  const CallEvidence call(context);
  access::Asker asker;
  grpc::Status known = Identify(on_.access, call, asker);
  if (!known.ok()) return known;
  const auto refused = on_.access.MayBeAgent(asker);
  return refused.has_value() ? ToGrpcStatus(*refused) : grpc::Status();
}

grpc::Status AgentService::Watch(grpc::ServerContext& context, const v1::WatchRequest& request,
                                 v1::WatchResponse& response) {
  // Each message is judged, as grants may have changed.
  if (grpc::Status may = MayWatch(context); !may.ok()) return may;
  if (!request.has_state()) return transport::FieldError("state", "is missing");
  if (request.agent().size() > kMaxAgentBytes) {
    return transport::FieldError(
        "agent", absl::StrCat("has ", request.agent().size(), " bytes; at most ", kMaxAgentBytes));
  }
  absl::StatusOr<agents::AgentState> state = AgentStateOf(request.state());
  if (!state.ok()) return ToGrpcStatus(state.status(), {});
  if (remote_decider_ != nullptr && !remote_decider_->DecidesHere(request.target())) {
    return DecidedElsewhere(context, request.target());
  }
  const std::shared_ptr<const engine::Policy> policy = on_.engine.policy();
  uint32_t place = 0;
  absl::Status status = policy == nullptr
                            ? absl::FailedPreconditionError("no policy is installed yet")
                            : policy->ResolveTarget(request.target(), place);
  if (!status.ok()) return ToGrpcStatus(status, {});
  const std::string& target = policy->targets[place].name;
  const std::string peer = context.peer();
  status = on_.registry.Tell(StreamOf(context),
                             {.target = target, .peer = peer, .agent = request.agent()}, *state,
                             on_.clock.Read());
  if (!status.ok()) return RefusalOf(status);
  response.Clear();
  SetDuration(absl::ToInt64Nanoseconds(agents::AgentRegistry::kLease), *response.mutable_lease());
  FillBatchWork(target, response);
  return grpc::Status();
}

grpc::Status AgentService::DecidedElsewhere(grpc::ServerContext& context,
                                            const std::string& target) const {
  const std::string hint = remote_decider_->OwnerHint(target);
  if (hint.empty()) {
    return transport::Failure(
        absl::StatusCode::kUnavailable, "NO_OWNER",
        absl::StrCat("no server decides for target '", target, "' just now; ask again"));
  }
  context.AddTrailingMetadata(kOwnerKey, hint);
  return transport::Failure(absl::StatusCode::kUnavailable, "OTHER_OWNER",
                            absl::StrCat("target '", target, "' is decided for by the server at ",
                                         hint.substr(0, hint.find(' '))));
}

void AgentService::FillBatchWork(const std::string& target, v1::WatchResponse& response) const {
  const std::shared_ptr<const config::Config> config = on_.in_force ? on_.in_force() : nullptr;
  if (config == nullptr) return;
  const auto found = std::ranges::find_if(
      config->targets, [&](const config::TargetSettings& known) { return known.name == target; });
  if (found == config->targets.end()) return;
  for (const std::string& role : found->batch_work.roles) response.add_batch_roles(role);
  for (const std::string& name : found->batch_work.application_names) {
    response.add_batch_application_names(name);
  }
}

AgentService::Stream AgentService::StreamOf(const grpc::ServerContext& context) {
  const MutexLock lock(&mutex_);
  Stream& stream = open_[&context];
  if (stream == 0) stream = on_.registry.Open();
  return stream;
}

void AgentService::End(const grpc::ServerContext& context) {
  Stream stream = 0;
  {
    const MutexLock lock(&mutex_);
    const auto found = open_.find(&context);
    if (found == open_.end()) return;
    stream = found->second;
    open_.erase(found);
  }
  on_.registry.End(stream, on_.clock.Read());
}

}  // namespace headgate::rpc
