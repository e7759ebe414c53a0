// Whether one server may decide on while the store is away, as it asks another.

#include "server/serve/peers/keep_client.h"

#include <headgate/peer/v1/question_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::peers {
namespace {

class KeepQuestions : public testing::Test {
 protected:
  enum class Answer : uint8_t { kNone, kAgrees, kDoesNotAgree };

  Answer Ask(const std::string& address, const std::string& to,
             absl::Duration patience = kPatience) {
    std::atomic<Answer> answer{Answer::kNone};
    peer::v1::KeepRequest request;
    request.set_to(to);
    client_.Ask({.address = address,
                 .request = request,
                 .patience = patience,
                 .then = [&answer](bool agrees) {
                   answer = agrees ? Answer::kAgrees : Answer::kDoesNotAgree;
                 }});
    EXPECT_TRUE(WaitUntil([&] { return answer != Answer::kNone; }));
    return answer;
  }

  Servers servers_{2};
  KeepClient client_{*servers_[0].connections};
};

TEST_F(KeepQuestions, TheAnswerIsThatOfTheServerThatIsAsked) {
  EXPECT_EQ(Ask(servers_[1].own_address, "agrees"), Answer::kAgrees);
  EXPECT_EQ(Ask(servers_[1].own_address, "other"), Answer::kDoesNotAgree);
}

TEST_F(KeepQuestions, NoAnswerIsARefusal) {
  const std::string nobody = "127.0.0.1:1";
  servers_.shared().members.Join(nobody);
  EXPECT_EQ(Ask(nobody, "agrees", absl::Seconds(5)), Answer::kDoesNotAgree);
}

TEST_F(KeepQuestions, WhoIsNoMemberIsNotAsked) {
  const std::string address = servers_[1].own_address;
  servers_.LeaveMembership(1);
  EXPECT_TRUE(WaitUntil([&] { return servers_[0].connections->size() == 0; }));
  EXPECT_EQ(Ask(address, "agrees"), Answer::kDoesNotAgree);
  EXPECT_EQ(servers_[0].connections->size(), 0U);
}

TEST_F(KeepQuestions, NothingIsAskedAfterTheEnd) {
  client_.Close();
  EXPECT_EQ(Ask(servers_[1].own_address, "agrees"), Answer::kDoesNotAgree);
}

TEST_F(KeepQuestions, NobodyButAPeerIsAnswered) {
  EXPECT_EQ(CallRpc(servers_[0].caller, &peer::v1::QuestionService::Stub::Keep).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace headgate::peers
