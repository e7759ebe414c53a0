#include "server/rpc/cluster_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/access_status.h"
#include "server/rpc/errors.h"
#include "server/rpc/fleet_answers.h"
#include "server/rpc/operator_change.h"
#include "server/transport/error_status.h"

namespace headgate::rpc {
namespace {

grpc::Status Alone() {
  return transport::Failure(absl::StatusCode::kFailedPrecondition, "ALONE",
                            "this server shares its targets with no other: its configuration "
                            "names no store");
}

absl::Status HasMember(const cluster::ClusterView& view, const std::string& name) {
  const auto is_it = [&](const auto& member) { return member.row.name == name; };
  if (std::any_of(view.members.begin(), view.members.end(), is_it)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("member: there is no server '", name, "'"));
}

absl::Status HasTarget(const cluster::ClusterView& view, const std::string& name) {
  const auto is_it = [&](const auto& target) { return target.target == name; };
  if (std::any_of(view.targets.begin(), view.targets.end(), is_it)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("target: no target '", name, "' is configured"));
}

}  // namespace

ClusterService::ClusterService(const Sources& sources)
    : GuardedService(sources.access), on_(sources) {
  AddGuarded("/headgate.v1.ClusterService/ListMembers", &ClusterService::List);
  AddGuarded("/headgate.v1.ClusterService/MoveTarget", &ClusterService::Move);
  AddGuarded("/headgate.v1.ClusterService/DrainMember", &ClusterService::Drain);
  AddGuarded("/headgate.v1.ClusterService/UndrainMember", &ClusterService::Undrain);
}

grpc::Status ClusterService::List(const Asked& asked, const v1::ListMembersRequest& /*request*/,
                                  v1::ListMembersResponse& response) {
  if (const auto refused = access_.MayReadStatus(asked.who)) return ToGrpcStatus(*refused);
  if (on_.control == nullptr) return Alone();
  FillCluster(on_.control->View(), *response.mutable_cluster());
  return grpc::Status();
}

grpc::Status ClusterService::Move(const Asked& asked, const v1::MoveTargetRequest& request,
                                  v1::MoveTargetResponse& /*response*/) {
  const std::string& to = request.member();
  return Carry(asked,
               {.method = "MoveTarget",
                .change = to.empty() ? absl::StrCat("target ", request.target(), " goes anywhere")
                                     : absl::StrCat("target ", request.target(), " goes to ", to),
                .actor = request.actor(),
                .reason = request.reason(),
                .validate =
                    [&](const cluster::ClusterView& view) {
                      absl::Status valid = HasTarget(view, request.target());
                      return valid.ok() && !to.empty() ? HasMember(view, to) : valid;
                    },
                .run = [&] { return on_.control->SetPreferred(request.target(), to); }});
}

grpc::Status ClusterService::Drain(const Asked& asked, const v1::DrainMemberRequest& request,
                                   v1::DrainMemberResponse& /*response*/) {
  return SetDrained(asked, "DrainMember", request.member(), true, request.actor(),
                    request.reason());
}

grpc::Status ClusterService::Undrain(const Asked& asked, const v1::UndrainMemberRequest& request,
                                     v1::UndrainMemberResponse& /*response*/) {
  return SetDrained(asked, "UndrainMember", request.member(), false, request.actor(),
                    request.reason());
}

grpc::Status ClusterService::SetDrained(const Asked& asked, const char* method,
                                        const std::string& member, bool drained,
                                        const std::string& actor, const std::string& reason) {
  return Carry(
      asked, {.method = method,
              .change = absl::StrCat("server ", member, drained ? " drained" : " undrained"),
              .actor = actor,
              .reason = reason,
              .validate = [&](const cluster::ClusterView& view) { return HasMember(view, member); },
              .run = [&] { return on_.control->SetDrained(member, drained); }});
}

grpc::Status ClusterService::Carry(const Asked& asked, Order order) {
  if (const auto refused = access_.MayArrangeServers(asked.who)) return ToGrpcStatus(*refused);
  if (on_.control == nullptr) return Alone();
  if (on_.registry == nullptr) return NoStateFolder("who changed what");
  if (asked.who.caller != nullptr) {
    const absl::Status valid = Attribute(*asked.who.caller, order.actor, order.reason);
    if (!valid.ok()) return ChangeToGrpcStatus(valid);
  }
  absl::Status status = order.validate(on_.control->View());
  if (status.ok()) {
    status = on_.registry->Record({.kind = overrides::EventKind::kServersChanged,
                                   .change = order.change,
                                   .actor = order.actor,
                                   .reason = order.reason});
  }
  if (status.ok()) status = order.run();
  if (!status.ok()) return ChangeToGrpcStatus(status);
  TellChange(asked.context, order.method, "servers arranged",
             {{"change", order.change}, {"actor", order.actor}, {"reason", order.reason}});
  return grpc::Status();
}

}  // namespace headgate::rpc
