// headgate.peer.v1.QuestionService: what other servers ask on behalf of people. Nobody else is
// answered, whatever they say of themselves.
//
// A question goes to the handler that a call of the API would get, as a call of whoever asked the
// other server. Runs on gRPC's threads. Thread-safe.
//
//   QuestionService questions({.follow = follow, .agree = agree, .try_to_measure =
//   try_to_measure}); auto server = RpcServer::Start({..., .questions = &questions}, ...);

#pragma once

#include <grpcpp/server_context.h>
#include <headgate/peer/v1/question_service.pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/serve/rpc/api.h"
#include "server/share/cluster/offers.h"

namespace headgate::peers {

class QuestionService final : public rpc::PeerQuestions {
 public:
  // Puts into force what overrides there are by this revision.
  using Follow = std::function<absl::Status(uint64_t revision)>;
  // OK: this server agrees that the asker decides on while the store is away.
  using Agree = std::function<absl::Status(const peer::v1::KeepRequest& request)>;

  // How well this server could measure a target, by trying. NotFound: it lacks it.
  using TryToMeasure = std::function<absl::StatusOr<cluster::Offer>(const std::string& target)>;

  // What answers the questions that are no calls of the API.
  struct Answers {
    Follow follow;
    Agree agree;
    TryToMeasure try_to_measure;
  };

  explicit QuestionService(Answers answers);

  void Use(const rpc::Api& api) override;

 private:
  grpc::Status MustBePeer(grpc::ServerContext& context) const;
  grpc::Status Ask(grpc::ServerContext& context, const peer::v1::AskRequest& request,
                   peer::v1::AskResponse& response);

  const Answers answers_;
  const rpc::Api* api_ = nullptr;
  std::map<std::string, const rpc::Method*, std::less<>> methods_;  // by path; set before calls
};

}  // namespace headgate::peers
