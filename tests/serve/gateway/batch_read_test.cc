// Several reads in one request: each is answered as it would be by itself, and what pages ask is
// shared by rights.

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/in_process_server.h"

namespace headgate::gateway {
namespace {

using testing::HasSubstr;

class BatchReadTest : public testing::Test {
 protected:
  static constexpr char kPath[] = "/v1/batch_read";

  BatchReadTest()
      : server_(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true}),
        caller_(server_.http_port()) {}

  httplib::Result Read(const std::vector<std::string>& calls) {
    return caller_.Post(kPath, absl::StrCat(R"({"calls":[)", absl::StrJoin(calls, ","), "]}"));
  }

  InProcessServer server_;
  HttpCaller caller_;
};

TEST_F(BatchReadTest, AnswersEachCallAsItWouldBeByItself) {
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"list_budgets", R"({"page_size":5})"},
      {"list_buckets", R"({"target":"nowhere"})"},
      {"explain", R"({"check":{"identity":"etl"}})"},
      {"list_lines", R"({"unknown":1})"}};
  std::vector<std::string> texts;
  std::string expected;
  for (const auto& [method, request] : calls) {
    texts.push_back(absl::StrCat("{\"", method, "\":", request, "}"));
    const httplib::Result alone = caller_.Post(absl::StrCat("/v1/", method), request);
    ASSERT_TRUE(alone);
    absl::StrAppend(&expected, expected.empty() ? "" : ",", "{\"status\":", alone->status);
    // Each failure has an id of its own.
    if (alone->status != 200) expected += ",\"request_id\":\"-\"";
    absl::StrAppend(&expected, ",\"body\":", alone->body, "}");
  }
  const httplib::Result batch = Read(texts);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->status, 200);
  EXPECT_EQ(
      std::regex_replace(batch->body, std::regex(R"("request_id":"[^"]*")"), R"("request_id":"-")"),
      absl::StrCat("{\"answers\":[", expected, "]}"));
}

TEST_F(BatchReadTest, RefusesWhatIsNoReadBeforeAnythingIsAsked) {
  for (const char* method : {"check", "report", "create_override", "forget_costs", "batch_read",
                             "batch_check", "nothing", "../v1/get_status"}) {
    const httplib::Result refused =
        Read({R"({"get_status":{}})", absl::StrCat("{\"", method, "\":{}}")});
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 400) << method;
    EXPECT_THAT(refused->body, HasSubstr("calls[1]")) << method;
  }
  EXPECT_EQ(server_.Debt("etl"), 0);
}

TEST_F(BatchReadTest, HasASizeAndANumberOfCalls) {
  const std::vector<std::string> nine(9, R"({"list_lines":{}})");
  EXPECT_EQ(Read(nine)->status, 400);
  EXPECT_EQ(Read({R"({"get_status":{)" + std::string(20'000, ' ') + "}}"})->status, 400);
  EXPECT_EQ(Read(std::vector<std::string>(8, nine[0]))->status, 200);
}

TEST_F(BatchReadTest, IsCalledByPostWithJson) {
  EXPECT_EQ(caller_.client().Get(kPath)->status, 405);
  EXPECT_EQ(caller_.client().Post(kPath, "{}", "text/plain")->status, 415);
}

// What a page is told of the debt of all, by callers with these rights, while the clock stands
// still.
class SharedByRightsTest : public BatchReadTest {
 protected:
  static access::PolicySpec Anybody(access::CallerSpec caller) {
    caller.anybody = true;
    return {.callers = {std::move(caller)}};
  }
  static access::PolicySpec OnlyTokens() { return {.callers = {{.name = "a", .token = "a"}}}; }

  httplib::Result Look(const std::string& path = kPath,
                       const std::string& body = R"({"calls":[{"list_budgets":{}}]})") {
    const std::string origin = absl::StrCat("http://127.0.0.1:", server_.http_port());
    return caller_.client().Post(path, {{"Origin", origin}}, body, "application/json");
  }
  // As it was when the answer was made.
  bool SaysThatItOwes(int debt) {
    const httplib::Result result = Look();
    return result && result->status == 200 &&
           result->body.find(absl::StrCat("\"debt\":", debt, ",")) != std::string::npos;
  }
  void Owe(double more) { server_.Allowed("etl", more); }
};

TEST_F(SharedByRightsTest, IsAnsweredOnceForAllWhoMayDoTheSame) {
  Owe(60);
  EXPECT_TRUE(SaysThatItOwes(60));
  Owe(30);
  EXPECT_TRUE(SaysThatItOwes(60));
  // The same question by itself is the same question.
  EXPECT_THAT(Look("/v1/list_budgets", "{}")->body, HasSubstr("\"debt\":60,"));
  server_.clock.Advance(absl::Milliseconds(900));
  EXPECT_TRUE(SaysThatItOwes(81));
}

TEST_F(SharedByRightsTest, GoesByWhatIsGrantedAndNotByWhoThatIs) {
  server_.access.SetPolicy(Anybody({.name = "ann", .identities = {"*"}, .status = true}));
  Owe(60);
  EXPECT_TRUE(SaysThatItOwes(60));
  Owe(30);
  server_.access.SetPolicy(Anybody({.name = "bob", .identities = {"*"}, .status = true}));
  EXPECT_TRUE(SaysThatItOwes(60));
  server_.access.SetPolicy(
      Anybody({.name = "ann", .identities = {"*"}, .logs = true, .status = true}));
  EXPECT_TRUE(SaysThatItOwes(90));
}

TEST_F(SharedByRightsTest, TellsNothingToWhoMayNotSeeItOrIsNotKnown) {
  Owe(60);
  EXPECT_TRUE(SaysThatItOwes(60));
  server_.access.SetPolicy(Anybody({.name = "ann", .identities = {"*"}}));
  EXPECT_THAT(Look()->body, HasSubstr("\"status\":403"));
  server_.access.SetPolicy(OnlyTokens());
  const auto counted = static_cast<size_t>(access::RefusalReason::kUnauthenticated);
  const uint64_t before = server_.access.refusals()[counted];
  EXPECT_EQ(Look()->status, 401);
  EXPECT_EQ(server_.access.refusals()[counted], before + 1);
}

}  // namespace
}  // namespace headgate::gateway
