// Whether one server may decide on while the store is away, as it asks another.

#include <headgate/peer/v1/question_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/peers/keep_asker.h"
#include "tests/peers/peers_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::peers {
namespace {

class KeepQuestions : public testing::Test {
 protected:
  enum class Answer : uint8_t { kNone, kAgrees, kDoesNotAgree };

  Answer Ask(const std::string& address, const std::string& to) {
    std::atomic<Answer> answer{Answer::kNone};
    peer::v1::KeepRequest request;
    request.set_to(to);
    asker_.Ask(address, request, absl::Seconds(5), [&answer](bool agrees) {
      answer = agrees ? Answer::kAgrees : Answer::kDoesNotAgree;
    });
    EXPECT_TRUE(WaitUntil([&] { return answer != Answer::kNone; }));
    return answer;
  }

  Servers servers_{2};
  KeepAsker asker_{[this](const std::string& address) {
    return OwnChannel(address,
                      grpc::SslCredentials(servers_.shared().Shown(servers_.shared().certificate)));
  }};
};

TEST_F(KeepQuestions, TheAnswerIsThatOfTheServerThatIsAsked) {
  EXPECT_EQ(Ask(servers_[1].own_address, "agrees"), Answer::kAgrees);
  EXPECT_EQ(Ask(servers_[1].own_address, "other"), Answer::kDoesNotAgree);
}

TEST_F(KeepQuestions, NoAnswerIsARefusal) {
  const std::string address = servers_[1].own_address;
  servers_.Kill(1);
  EXPECT_EQ(Ask(address, "agrees"), Answer::kDoesNotAgree);
  asker_.Close();
  EXPECT_EQ(Ask(address, "agrees"), Answer::kDoesNotAgree);
}

TEST_F(KeepQuestions, NobodyButAPeerIsAnswered) {
  EXPECT_EQ(CallRpc(servers_[0].caller, &peer::v1::QuestionService::Stub::Keep).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace headgate::peers
