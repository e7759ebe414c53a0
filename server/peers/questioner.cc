#include "server/peers/questioner.h"

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
using peer::v1::QuestionService;
using Async = QuestionService::Stub::async_interface;

template <typename Request, typename Response>
using AsyncMethod = void (Async::*)(grpc::ClientContext*, const Request*, Response*,
                                    std::function<void(grpc::Status)>);

template <typename Response>
struct UnderWay {
  std::unique_ptr<QuestionService::Stub> stub;
  grpc::ClientContext context;
  Response response;
  grpc::Status status;
};

// The same of all at once; returns when each has answered, or did not in time.
template <typename Request, typename Response, typename Peers>
std::deque<UnderWay<Response>> CallAll(const Peers& peers, AsyncMethod<Request, Response> method,
                                       const Request& request, absl::Duration patience) {
  std::deque<UnderWay<Response>> calls(peers.size());
  absl::BlockingCounter left(static_cast<int>(peers.size()));
  for (size_t i = 0; i < peers.size(); ++i) {
    UnderWay<Response>& call = calls[i];
    call.stub = QuestionService::NewStub(peers[i].channel);
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

std::vector<Questioner::Peer> Questioner::Others(const std::string& only) {
  const cluster::ClusterView view = options_.control.View();
  std::map<std::string, std::shared_ptr<grpc::Channel>> used;
  std::vector<Peer> others;
  const MutexLock lock(&mutex_);
  for (const cluster::ViewedMember& member : view.members) {
    if (member.is_self || !member.is_here) continue;
    const std::string& address = member.row.address;
    std::shared_ptr<grpc::Channel>& channel = used[address];
    const auto known = channels_.find(address);
    channel = known == channels_.end() ? options_.connect(address) : known->second;
    if (only.empty() || only == member.row.name) others.push_back({member.row.name, channel});
  }
  channels_ = std::move(used);  // of those that have gone none is kept
  return others;
}

std::vector<rpc::Fleet::Reply> Questioner::AskEach(const std::vector<Peer>& peers,
                                                   const Question& question) {
  AskRequest request;
  request.set_caller(question.caller.data(), question.caller.size());
  request.set_peer(question.peer);
  request.set_method(question.path);
  request.set_request(question.request.SerializeAsString());
  AsyncMethod<AskRequest, AskResponse> const ask = &Async::Ask;
  auto calls = CallAll(peers, ask, request, kPatience);
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

std::vector<rpc::Fleet::Reply> Questioner::AskOthers(const Question& question) {
  return AskEach(Others(), question);
}

rpc::Fleet::Reply Questioner::Ask(const std::string& member, const Question& question) {
  std::vector<Reply> replies = AskEach(Others(member), question);
  if (!replies.empty()) return std::move(replies.front());
  return {.member = member,
          .status = {grpc::StatusCode::UNAVAILABLE, absl::StrCat(member, " is not here")},
          .response = {}};
}

std::vector<std::string> Questioner::SpreadOverrides(uint64_t revision) {
  const std::vector<Peer> others = Others();
  FollowOverridesRequest request;
  request.set_revision(revision);
  AsyncMethod<FollowOverridesRequest, FollowOverridesResponse> const follow =
      &Async::FollowOverrides;
  const auto calls = CallAll(others, follow, request, kSpreading);
  std::vector<std::string> silent;
  for (size_t i = 0; i < others.size(); ++i) {
    if (!calls[i].status.ok()) silent.push_back(others[i].name);
  }
  return silent;
}

}  // namespace headgate::peers
