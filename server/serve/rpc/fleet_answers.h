// What the other servers answered to a question of people, and what to make of it.
//
// What is said of a target is its owner's answer, and nobody else's; where nobody owns it, or its
// owner did not answer, it is that of the server that was asked. Sums are over all servers.
//
//   if (auto others = AskOthers<v1::ListBucketsResponse>(fleet, asked.who, path, request)) {
//     Merge(*std::move(others), most, response);
//   }

#pragma once

#include <headgate/v1/cluster_service.pb.h>
#include <headgate/v1/status_service.pb.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/decide/engine/engine.h"
#include "server/govern/access/access_control.h"
#include "server/serve/rpc/fleet.h"

namespace headgate::rpc {

// How many lines GetStatus shows, for a first look.
inline constexpr size_t kLinesOfStatus = 5;

// What a server is asked by another one it answers by itself.
inline bool MayAskOthers(const Fleet* fleet, const access::Asker& who) {
  return fleet != nullptr && (who.evidence == nullptr || who.evidence->NameFromPeer() == nullptr);
}
Fleet::Question QuestionOf(const char* path, const google::protobuf::Message& request,
                           const access::Asker& who);

// Nothing: this server answers.
std::optional<std::string> RemoteOwner(Fleet* fleet, const access::Asker& who,
                                       const engine::Engine& engine, const std::string& target);

template <typename Response>
struct FleetAnswers {
  struct One {
    std::string member;
    grpc::Status status;
    Response response;  // of one that answered
  };
  cluster::ClusterView view;
  std::map<std::string, std::string> owners = {};  // by target; empty: nobody just now
  std::vector<One> others = {};

  bool IsOwnersAnswer(const One& one, const std::string& target) const {
    const auto owner = owners.find(target);
    return owner != owners.end() && owner->second == one.member;
  }
};

// Nothing: this server answers alone.
template <typename Response>
std::optional<FleetAnswers<Response>> AskOthers(Fleet* fleet, const access::Asker& who,
                                                const char* path,
                                                const google::protobuf::Message& request) {
  if (!MayAskOthers(fleet, who)) return std::nullopt;
  FleetAnswers<Response> answers;
  // First, so that what has moved meanwhile is asked of both.
  answers.view = fleet->View();
  for (const cluster::ViewedTarget& viewed : answers.view.targets) {
    answers.owners.emplace(viewed.target, cluster::AskedAbout(viewed));
  }
  for (Fleet::Reply& reply : fleet->AskOthers(QuestionOf(path, request, who))) {
    auto& one = answers.others.emplace_back();
    one.member = std::move(reply.member);
    one.status = std::move(reply.status);
    if (one.status.ok() && !one.response.ParseFromString(reply.response)) {
      one.status = {grpc::StatusCode::INTERNAL, "its answer makes no sense"};
    }
  }
  return answers;
}

// A question about one target.
struct TargetQuestion {
  const access::Asker& who;
  const char* path;  // of the method
  const engine::Engine& engine;
  const std::string& target;  // may be empty where there is one
  const google::protobuf::Message& request;
};
// Has the target's owner answer, where that is another server. Nothing: this one does.
template <typename Response>
std::optional<grpc::Status> AskOwner(Fleet* fleet, const TargetQuestion& question,
                                     Response& response) {
  const auto& [who, path, engine, target, request] = question;
  const std::optional<std::string> owner = RemoteOwner(fleet, who, engine, target);
  if (!owner.has_value()) return std::nullopt;
  const Fleet::Reply reply = fleet->Ask(*owner, QuestionOf(path, request, who));
  if (reply.status.ok() && !response.ParseFromString(reply.response)) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "the owner's answer makes no sense");
  }
  return reply.status;
}

void FillCluster(const cluster::ClusterView& view, v1::ClusterStatus& status);

// `response` is this server's own.
void Merge(FleetAnswers<v1::GetStatusResponse> answers, v1::GetStatusResponse& response);
void Merge(FleetAnswers<v1::ListBudgetsResponse> answers,
           google::protobuf::RepeatedPtrField<v1::BudgetStatus>& budgets);
void Merge(FleetAnswers<v1::ListBucketsResponse> answers, size_t most,
           v1::ListBucketsResponse& response);
void Merge(FleetAnswers<v1::ListLinesResponse> answers, size_t most,
           v1::ListLinesResponse& response);
void Merge(FleetAnswers<v1::ListLeasesResponse> answers, size_t most,
           v1::ListLeasesResponse& response);

}  // namespace headgate::rpc
