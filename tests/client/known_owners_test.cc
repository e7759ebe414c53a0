// A client that has been told who owns its target, and what becomes of its Checks when that one
// does not answer as it should.

#include <headgate/client.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/scripted_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

grpc::Status Allow(v1::CheckResponse& response) {
  response.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
  return grpc::Status::OK;
}

class OwnerTest : public testing::Test {
 protected:
  explicit OwnerTest(absl::Duration check_deadline = absl::Seconds(30)) {
    configured_.OnCheck([this](grpc::ServerContext& context, const v1::CheckRequest& request,
                               v1::CheckResponse& response) {
      context.AddTrailingMetadata("headgate-owner",
                                  absl::StrCat(owner_.address(), " ", request.target()));
      return Allow(response);
    });
    ClientOptions options = Options();
    options.address = configured_.address();
    options.check_deadline = check_deadline;
    options.target = "orders";
    client_ = Take(Client::Create(options));
  }

  // Until the owner is asked.
  void Meet() {
    ASSERT_TRUE(WaitUntil([&] {
      EXPECT_TRUE(client_->Check({}).ok());
      return !owner_.checks().empty();
    }));
  }

  ScriptedServer configured_;
  ScriptedServer owner_;
  std::unique_ptr<Client> client_;
};

// Half of the deadline is waited for, and the other half is for an answer that needs a fraction of
// it.
class HungOwnerTest : public OwnerTest {
 protected:
  HungOwnerTest() : OwnerTest(absl::Seconds(6)) {}
};

TEST_F(OwnerTest, IsAskedOnceItIsReached) {
  Meet();
  const size_t asked = configured_.checks().size();
  EXPECT_TRUE(client_->Check({}).ok());
  EXPECT_EQ(configured_.checks().size(), asked);
}

TEST_F(HungOwnerTest, LeavesHalfOfTheDeadlineForTheOtherWay) {
  Meet();
  owner_.Hang();
  const size_t asked = configured_.checks().size();
  EXPECT_TRUE(client_->Check({}).ok());
  ASSERT_EQ(configured_.checks().size(), asked + 1);
  // As one request, whatever the owner has done with it.
  EXPECT_EQ(configured_.checks().back().request_id(), owner_.checks().back().request_id());
  EXPECT_FALSE(owner_.checks().back().request_id().empty());
}

TEST_F(HungOwnerTest, LeavesTheWaitOfAWaitingCheckShorter) {
  Meet();
  owner_.Hang();
  EXPECT_TRUE(client_->Check({.max_wait = absl::Milliseconds(100)}).ok());
  const v1::CheckRequest sent = configured_.checks().back();
  EXPECT_LE(sent.max_wait().seconds(), 0);
  EXPECT_LE(sent.max_wait().nanos(), 100'000'000);
}

TEST_F(OwnerTest, ThatIsAnotherProgramByNowIsAskedNoMore) {
  Meet();
  owner_.OnCheck([](auto&, const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "what is a Check?");
  });
  EXPECT_TRUE(client_->Check({}).ok());
}

TEST_F(OwnerTest, ThatRefusesHasDecided) {
  Meet();
  owner_.OnCheck([](auto&, const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too much");
  });
  const size_t asked = configured_.checks().size();
  EXPECT_TRUE(absl::IsResourceExhausted(client_->Check({}).status()));
  EXPECT_EQ(configured_.checks().size(), asked);
}

TEST_F(OwnerTest, GetsTheReportsUntilItIsGone) {
  Meet();
  v1::ReportResult settled;
  settled.set_outcome(v1::REPORT_OUTCOME_SETTLED);
  owner_.SetReportResult(settled);
  configured_.SetReportResult(settled);
  EXPECT_TRUE(client_->Check({}).ok());
  EXPECT_TRUE(client_->ReportNow(7, {}).ok());
  EXPECT_EQ(owner_.reports().size(), 1U);
  owner_.Stop();
  EXPECT_TRUE(client_->ReportNow(8, {}).ok());
  EXPECT_EQ(configured_.reports().size(), 1U);
}

TEST_F(OwnerTest, OfOneTargetIsNotAskedAboutAnother) {
  Meet();
  const size_t asked = owner_.checks().size();
  EXPECT_TRUE(client_->Check({.target = "customers"}).ok());
  EXPECT_EQ(owner_.checks().size(), asked);
}

}  // namespace
}  // namespace headgate::client
