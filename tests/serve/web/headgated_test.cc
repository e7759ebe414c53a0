// The program: probes while it stops, its log as JSON, and ids of requests.

#include <grpcpp/grpcpp.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <httplib.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;

constexpr time_t kPatienceSeconds = 60;  // httplib's own is 5 s, which a busy machine may take

class HeadgatedTest : public testing::Test {
 protected:
  // Every line is an object.
  std::vector<nlohmann::json> Log() const {
    std::vector<nlohmann::json> lines;
    for (const auto line : absl::StrSplit(server_.Log(), '\n', absl::SkipEmpty())) {
      lines.push_back(nlohmann::json::parse(std::string(line)));
    }
    return lines;
  }
  std::vector<nlohmann::json> Lines(const std::string& event) const {
    std::vector<nlohmann::json> lines = Log();
    std::erase_if(lines, [&](const nlohmann::json& line) { return line["event"] != event; });
    return lines;
  }
  // The newest line of this event, once there is one: they are written when there is time.
  nlohmann::json AwaitLine(const std::string& event) const {
    std::vector<nlohmann::json> lines;
    EXPECT_TRUE(WaitUntil([&] { return !(lines = Lines(event)).empty(); })) << event;
    return lines.empty() ? nlohmann::json::object() : lines.back();
  }
  // Returns the id in the trailing metadata.
  std::string CheckBadly(const std::string& id = "") const {
    v1::CheckRequest request;
    request.set_identity("two words");
    v1::CheckResponse response;
    grpc::ClientContext context;
    if (!id.empty()) context.AddMetadata("x-request-id", id);
    const auto stub = v1::ThrottlerService::NewStub(server_.channel());
    EXPECT_EQ(stub->Check(&context, request, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    const auto& trailer = context.GetServerTrailingMetadata();
    const auto found = trailer.find("x-request-id");
    return found == trailer.end() ? "" : std::string(found->second.data(), found->second.size());
  }

  // Elsewhere than at UTC, which is nobody's business.
  RunningHeadgated server_{{.http_address = "127.0.0.1:0",
                            .flags = {"--log-format=json"},
                            .environment = {{"TZ", "Fixed/UTC+05:30:00"}}}};
};

TEST_F(HeadgatedTest, LogsOneJsonObjectALine) {
  nlohmann::json serving = AwaitLine("serving");
  EXPECT_EQ(serving["level"], "info");
  EXPECT_EQ(serving["http_port"], absl::StrCat(server_.http_port()));
  EXPECT_THAT(std::string(serving["ts"]), testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
}

// The last line must not be that it was refused.
TEST(HeadgatedsConfiguration, IsSaidToBeRestoredWhereItsFileComesBack) {
  const std::string yaml = "server: {max_connections: 100}";
  const RunningHeadgated server({.yaml = yaml});
  std::filesystem::remove(server.config_path());
  ASSERT_TRUE(server.AwaitLog("configuration refused"));
  const size_t from = server.Log().size();
  server.Rewrite(yaml);
  EXPECT_TRUE(server.AwaitLog("configuration restored", from));
}

// What the configuration says of gRPC's port holds for that of HTTP.
TEST(HeadgatedsLimits, AreThoseOfItsConfigurationOverHttp) {
  const RunningHeadgated server(
      {.yaml = "server: {max_message_bytes: 2000, max_connection_age: 1s}",
       .http_address = "127.0.0.1:0"});
  const auto post = [&](size_t bytes) {
    httplib::Client client("127.0.0.1", server.http_port());
    client.set_read_timeout(kPatienceSeconds);
    const auto answer =
        client.Post("/v1/get_status", "{}" + std::string(bytes - 2, ' '), "application/json");
    return answer ? answer->status : 0;
  };
  EXPECT_TRUE(WaitUntil([&] { return post(2000) == 200; }));  // it has started
  EXPECT_EQ(post(2001), 413);
  httplib::Client client("127.0.0.1", server.http_port());
  client.set_keep_alive(true);
  EXPECT_TRUE(WaitUntil([&] {
    const auto answer = client.Get("/healthz");
    return answer && answer->get_header_value("Connection") == "close";
  }));
}

TEST_F(HeadgatedTest, GivesBackTheIdOfACallerWhoseCallFails) {
  EXPECT_EQ(CheckBadly("trace-7f"), "trace-7f");
  nlohmann::json line = AwaitLine("call refused");
  EXPECT_EQ(line["request_id"], "trace-7f");
  EXPECT_EQ(line["method"], "Check");
  EXPECT_EQ(line["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(std::string(line["error"]), HasSubstr("identity"));
  EXPECT_THAT(std::string(line["peer"]), HasSubstr("127.0.0.1"));
}

TEST_F(HeadgatedTest, MakesAnIdWhereTheCallersIsNone) {
  const std::string first = CheckBadly();
  EXPECT_THAT(first, testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(CheckBadly(), first);
  EXPECT_THAT(CheckBadly("two words"), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(CheckBadly(std::string(129, 'x')), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(CheckBadly(std::string(128, 'x')), std::string(128, 'x'));
}

TEST_F(HeadgatedTest, LimitsLinesThatCallersProvoke) {
  const int64_t began_ns = MonotonicNs();
  for (int i = 0; i < 200; ++i) CheckBadly();
  EXPECT_TRUE(WaitUntil([&] { return Lines("call refused").size() >= 20; }));
  const size_t lines = Lines("call refused").size();
  const double seconds = 1e-9 * static_cast<double>(MonotonicNs() - began_ns);
  EXPECT_LE(static_cast<double>(lines), 50 + 10 * seconds + 1);  // 50 at once
  // The next one says how many were left out.
  EXPECT_TRUE(WaitUntil([&] {
    CheckBadly();
    return AwaitLine("call refused").contains("suppressed");
  }));
}

TEST_F(HeadgatedTest, LogsWhoMadeAnOverride) {
  const v1::CreateOverrideRequest request = Pause("etl", "ann", "a \"quoted\" reason");
  v1::CreateOverrideResponse response;
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", "ticket-1");
  const grpc::Status status =
      v1::OverrideService::NewStub(server_.channel())->CreateOverride(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  nlohmann::json line = AwaitLine("override created");
  EXPECT_EQ(line["actor"], "ann");
  EXPECT_EQ(line["identity"], "etl");
  EXPECT_EQ(line["reason"], response.override().reason());
  EXPECT_EQ(line["request_id"], "ticket-1");
  EXPECT_EQ(line["id"], absl::StrCat(response.override().id()));
  // As `ts`: in UTC.
  EXPECT_THAT(std::string(line["expires_at"]), testing::EndsWith("+00:00"));
}

TEST_F(HeadgatedTest, IsAliveAndNotReadyWhileItDrains) {
  httplib::Client client("127.0.0.1", server_.http_port());
  client.set_read_timeout(kPatienceSeconds);
  ASSERT_TRUE(WaitUntil([&] {
    const auto ready = client.Get("/readyz");
    return ready && ready->status == 200;
  }));
  server_.Signal(SIGTERM);
  // From the signal to the end: never ready again once it was not, and alive as long as it answers.
  bool draining = false;
  while (!server_.HasEnded(absl::Milliseconds(1))) {
    const auto ready = client.Get("/readyz");
    if (!ready) break;
    if (ready->status == 503) draining = true;
    if (draining) {
      EXPECT_EQ(ready->status, 503);
    }
    const auto alive = client.Get("/healthz");
    if (!alive) break;
    EXPECT_EQ(alive->status, 200);
  }
  ASSERT_TRUE(server_.HasEnded(absl::Minutes(2)));
  EXPECT_TRUE(server_.Outcome().ok()) << server_.Outcome();
}

TEST_F(HeadgatedTest, SaysThatTheHttpAddressIsTaken) {
  const std::string address = absl::StrCat("127.0.0.1:", server_.http_port());
  const absl::Status second = HeadgatedProcess({.http_address = address}).Start();
  EXPECT_THAT(
      std::string(second.message()),
      HasSubstr(absl::StrCat("HTTP: cannot listen on '", address, "': Address already in use")));
}

}  // namespace
}  // namespace headgate::web
