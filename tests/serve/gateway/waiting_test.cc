// Checks over HTTP that wait in the server for their turn.

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/raw_socket.h"

namespace headgate::gateway {
namespace {

using rpc::Waiting;
using testing::HasSubstr;
using testing::StartsWith;

std::string PostOf(const std::string& path, const std::string& body) {
  return absl::StrCat("POST ", path,
                      " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json"
                      "\r\nContent-Length: ",
                      body.size(), "\r\n\r\n", body);
}

std::string WaitingPost(double cost) {
  return PostOf("/v1/check", absl::StrCat(R"({"identity": "job:etl", "estimated_cost": )", cost,
                                          R"(, "max_wait": "60s"})"));
}

class WaitingOverHttp : public testing::Test {
 protected:
  WaitingOverHttp() { server_.Allowed("first:etl", 100); }

  InProcessServer server_{engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true}};
};

TEST_F(WaitingOverHttp, IsAnsweredWhenItsTurnComes) {
  RawSocket caller(server_.http_port());
  ASSERT_TRUE(caller.SendAll(WaitingPost(50)));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(5));
  const std::string answer = caller.ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"("waited":"5s")"));
  EXPECT_EQ(server_.Debt("job:etl"), 100);
}

TEST_F(WaitingOverHttp, IsDeniedWhenItsTimeIsUp) {
  RawSocket caller(server_.http_port());
  ASSERT_TRUE(caller.SendAll(
      PostOf("/v1/check", R"({"identity": "job:etl", "estimated_cost": 50, "max_wait": "2s"})")));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(2));
  const std::string answer = caller.ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: 3\r\n"));
}

TEST_F(WaitingOverHttp, LeavesTheLineWhenItsCallerHangsUpAndOwesNothing) {
  {
    RawSocket caller(server_.http_port());
    ASSERT_TRUE(caller.SendAll(WaitingPost(50)));
    ASSERT_TRUE(Waiting(server_, 1));
  }
  EXPECT_TRUE(Waiting(server_, 0));
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(server_.Debt("job:etl"), 50);
  EXPECT_EQ(server_.permits(), 1U);  // the first one's
  EXPECT_EQ(server_.dependencies().calls.ReadMethods().at("Check").codes[1], 1U);  // CANCELLED
}

// Which is decided by another thread than that of the port.
TEST_F(WaitingOverHttp, ALargeOneWaitsAndLeavesAsASmallOne) {
  const std::string large =
      PostOf("/v1/check", R"({"identity": "job:etl", "estimated_cost": 50, "max_wait": "60s"})" +
                              std::string(20'000, ' '));
  {
    RawSocket leaving(server_.http_port());
    ASSERT_TRUE(leaving.SendAll(large));
    ASSERT_TRUE(Waiting(server_, 1));
  }
  EXPECT_TRUE(Waiting(server_, 0));
  RawSocket staying(server_.http_port());
  ASSERT_TRUE(staying.SendAll(large));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(5));
  EXPECT_THAT(staying.ReceiveAll(), HasSubstr(R"("waited":"5s")"));
  EXPECT_EQ(server_.Debt("job:etl"), 100);
}

TEST_F(WaitingOverHttp, ABatchIsAnsweredWhenTheLastOfItIsDecided) {
  RawSocket caller(server_.http_port());
  ASSERT_TRUE(caller.SendAll(PostOf("/v1/batch_check", R"({"checks": [
      {"identity": "a:etl", "estimated_cost": 0},
      {"identity": "b:etl", "estimated_cost": 30, "max_wait": "60s"}]})")));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(3));
  const std::string answer = caller.ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"("waited":"3s")"));
}

TEST_F(WaitingOverHttp, AServerThatStopsAnswers503) {
  std::deque<RawSocket> callers;
  for (int i = 0; i < 20; ++i) {
    callers.emplace_back(server_.http_port());
    ASSERT_TRUE(callers.back().SendAll(WaitingPost(50)));
  }
  ASSERT_TRUE(Waiting(server_, 20));
  server_->Shutdown(absl::ZeroDuration());
  for (const RawSocket& caller : callers) {
    const std::string answer = caller.ReceiveAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: 1\r\n"));
  }
}

TEST_F(WaitingOverHttp, OthersOnTheSamePortAreAnsweredMeanwhile) {
  std::deque<RawSocket> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.emplace_back(server_.http_port());
    ASSERT_TRUE(waiting.back().SendAll(WaitingPost(50)));
  }
  ASSERT_TRUE(Waiting(server_, 50));
  HttpCaller other(server_.http_port());
  EXPECT_EQ(other.Post("/v1/check", R"({"identity": "job:etl", "estimated_cost": 1})")->status,
            429);
  EXPECT_EQ(other.Post("/v1/get_status", "{}")->status, 200);
}

// What comes behind a request is none, so nobody can hide one there.
TEST_F(WaitingOverHttp, DropsWhatIsSentBehindACallThatWaits) {
  RawSocket caller(server_.http_port());
  const std::string post = WaitingPost(50);
  ASSERT_TRUE(caller.SendAll(post));
  ASSERT_TRUE(Waiting(server_, 1));
  ASSERT_TRUE(caller.SendAll(post));
  server_.Advance(absl::Seconds(5));
  const std::string answer = caller.ReceiveAll();
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos);
  EXPECT_EQ(server_.Debt("job:etl"), 100);
}

TEST_F(WaitingOverHttp, AnswersAtOnceWhereTooManyConnectionsWait) {
  InProcessServer small(engine::OneBudget(engine::RateBudget("b", 10, 100)),
                        {.http = true, .http_options = {.limits = {.max_connections = 16}}});
  small.Allowed("first:etl", 100);
  std::deque<RawSocket> waiting;
  for (int i = 0; i < 14; ++i) {
    waiting.emplace_back(small.http_port());
    ASSERT_TRUE(waiting.back().SendAll(WaitingPost(50)));
  }
  ASSERT_TRUE(Waiting(small, 14));
  RawSocket one_more(small.http_port());
  ASSERT_TRUE(one_more.SendAll(WaitingPost(50)));
  EXPECT_THAT(one_more.ReceiveAll(), HasSubstr("REASON_LINE_FULL"));
}

}  // namespace
}  // namespace headgate::gateway
