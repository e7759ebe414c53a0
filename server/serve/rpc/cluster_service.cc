#include "server/serve/rpc/cluster_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/target_text.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/fleet_answers.h"
#include "server/serve/rpc/operator_change.h"
#include "server/serve/transport/error_status.h"

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
  std::vector<std::string> known;
  for (const auto& target : view.targets) known.push_back(target.target);
  return absl::NotFoundError(absl::StrCat("target: ", engine::NoTargetText(name, known)));
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
                      return valid.ok() && !to.empty() ? MayGoTo(view, request) : valid;
                    },
                .run = [&] { return on_.control->SetPreferred(request.target(), to); }});
}

// It takes effect only where that server has measured the target, so an order that would have none
// is refused while somebody reads why.
absl::Status ClusterService::MayGoTo(const cluster::ClusterView& view,
                                     const v1::MoveTargetRequest& request) const {
  const std::string& to = request.member();
  absl::Status valid = cluster::MayHave(view, request.target(), to);
  if (!valid.ok()) return valid;
  const cluster::ViewedMember* const member = cluster::FindMember(view, to);
  // One that is away has the target when it is back, if it can; and its owner has it already.
  if (!member->is_here || cluster::OwnerIn(view, request.target()) == to) return absl::OkStatus();
  const absl::StatusOr<cluster::Offer> tried = on_.control->TryToMeasure(request.target(), to);
  if (absl::IsNotFound(tried.status())) {
    return absl::FailedPreconditionError(tried.status().message());
  }
  if (!tried.ok()) return tried.status();
  // A database that is down for all is no reason to keep it where it is.
  if (tried->measures >= cluster::OwnersMeasures(view, request.target())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("server ", to, " cannot measure target ", request.target(), ": ", tried->why));
}

grpc::Status ClusterService::Drain(const Asked& asked, const v1::DrainMemberRequest& request,
                                   v1::DrainMemberResponse& /*response*/) {
  return SetDrained(asked, {.method = "DrainMember",
                            .member = request.member(),
                            .drained = true,
                            .actor = request.actor(),
                            .reason = request.reason()});
}

grpc::Status ClusterService::Undrain(const Asked& asked, const v1::UndrainMemberRequest& request,
                                     v1::UndrainMemberResponse& /*response*/) {
  return SetDrained(asked, {.method = "UndrainMember",
                            .member = request.member(),
                            .drained = false,
                            .actor = request.actor(),
                            .reason = request.reason()});
}

grpc::Status ClusterService::SetDrained(const Asked& asked, const Draining& draining) {
  const std::string& member = draining.member;
  const bool drained = draining.drained;
  return Carry(
      asked, {.method = draining.method,
              .change = absl::StrCat("server ", member, drained ? " drained" : " undrained"),
              .actor = draining.actor,
              .reason = draining.reason,
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
