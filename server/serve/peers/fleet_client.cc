#include "server/serve/peers/fleet_client.h"

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <headgate/peer/v1/question_service.grpc.pb.h>

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "common/strings.h"

namespace headgate::peers {
namespace {

using peer::v1::AskRequest;
using peer::v1::AskResponse;
using peer::v1::FollowOverridesRequest;
using peer::v1::FollowOverridesResponse;
using peer::v1::MeasureRequest;
using peer::v1::MeasureResponse;
using Async = peer::v1::QuestionService::Stub::async_interface;

template <typename Request, typename Response>
using AsyncMethod = void (Async::*)(grpc::ClientContext*, const Request*, Response*,
                                    std::function<void(grpc::Status)>);

template <typename Response>
struct UnderWay {
  std::unique_ptr<peer::v1::QuestionService::Stub> stub;
  grpc::ClientContext context;
  Response response;
  grpc::Status status;
};

grpc::Status NotHere(const std::string& member) {
  return {grpc::StatusCode::UNAVAILABLE, absl::StrCat(member, " is not here")};
}

// Asks all the same at once. Returns when each has answered, or has not in time.
template <typename Request, typename Response, typename Peers>
std::deque<UnderWay<Response>> CallAll(const Peers& peers, AsyncMethod<Request, Response> method,
                                       const Request& request, absl::Duration patience) {
  std::deque<UnderWay<Response>> calls(peers.size());
  absl::BlockingCounter left(static_cast<int>(peers.size()));
  for (size_t i = 0; i < peers.size(); ++i) {
    UnderWay<Response>& call = calls[i];
    if (peers[i].channel == nullptr) {
      call.status = NotHere(peers[i].name);
      left.DecrementCount();
      continue;
    }
    call.stub = peer::v1::QuestionService::NewStub(peers[i].channel);
    call.context.set_deadline(
        gpr_time_from_millis(absl::ToInt64Milliseconds(patience), GPR_TIMESPAN));
    (call.stub->async()->*method)(&call.context, &request, &call.response,
                                  [&call, &left](const grpc::Status& status) {
                                    call.status = status;
                                    left.DecrementCount();
                                  });
  }
  left.Wait();
  return calls;
}

grpc::Status StatusOf(const google::rpc::Status& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()};
}

}  // namespace

std::vector<FleetClient::Peer> FleetClient::Others(const std::string& only) {
  const cluster::ClusterView view = options_.control.View();
  std::vector<Peer> others;
  for (const cluster::ViewedMember& member : view.members) {
    if (member.is_self || !member.is_here) continue;
    if (!only.empty() && only != member.row.name) continue;
    others.push_back({member.row.name, options_.connections.ChannelTo(member.row.address)});
  }
  return others;
}

std::vector<rpc::Fleet::Reply> FleetClient::AskEach(const std::vector<Peer>& peers,
                                                    const Question& question) {
  AskRequest request;
  request.set_caller(question.caller.data(), question.caller.size());
  request.set_peer(question.peer);
  request.set_method(question.path);
  request.set_request(question.request.SerializeAsString());
  AsyncMethod<AskRequest, AskResponse> const ask = &Async::Ask;
  auto calls = CallAll(peers, ask, request, options_.patience);
  std::vector<Reply> replies;
  for (size_t i = 0; i < peers.size(); ++i) {
    Reply& reply = replies.emplace_back();
    reply.member = peers[i].name;
    reply.status = calls[i].status;
    if (!reply.status.ok()) continue;
    if (calls[i].response.has_error()) reply.status = StatusOf(calls[i].response.error());
    reply.response.swap(*calls[i].response.mutable_response());
  }
  return replies;
}

std::vector<rpc::Fleet::Reply> FleetClient::AskOthers(const Question& question) {
  return AskEach(Others(), question);
}

rpc::Fleet::Reply FleetClient::Ask(const std::string& member, const Question& question) {
  std::vector<Reply> replies = AskEach(Others(member), question);
  if (!replies.empty()) return std::move(replies.front());
  return {.member = member, .status = NotHere(member), .response = {}};
}

absl::StatusOr<cluster::Offer> FleetClient::TryToMeasure(const std::string& target,
                                                         const std::string& member) {
  const std::vector<Peer> peers = Others(member);
  MeasureRequest request;
  request.set_target(target);
  AsyncMethod<MeasureRequest, MeasureResponse> const measure = &Async::Measure;
  const auto calls = CallAll(peers, measure, request, options_.measuring);
  const grpc::Status status = calls.empty() ? NotHere(member) : calls.front().status;
  // An earlier release, which is not asked: it is taken to measure all.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return cluster::Offer{.measures = cluster::Measures::kAll};
  }
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    return absl::NotFoundError(absl::StrCat("server ", member, " ", status.error_message()));
  }
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("server ", member, " did not say whether it could ",
                                               "measure target ", target, ": ",
                                               status.error_message()));
  }
  const MeasureResponse& response = calls.front().response;
  return cluster::Offer{.measures = static_cast<cluster::Measures>(response.measured()),
                        .why = response.why()};
}

std::vector<std::string> FleetClient::SpreadOverrides(uint64_t revision) {
  const std::vector<Peer> others = Others();
  FollowOverridesRequest request;
  request.set_revision(revision);
  AsyncMethod<FollowOverridesRequest, FollowOverridesResponse> const follow =
      &Async::FollowOverrides;
  const auto calls = CallAll(others, follow, request, options_.spreading);
  std::vector<std::string> silent;
  for (size_t i = 0; i < others.size(); ++i) {
    if (!calls[i].status.ok()) silent.push_back(others[i].name);
  }
  return silent;
}

}  // namespace headgate::peers
