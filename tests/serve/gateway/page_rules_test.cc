// Which pages may call, and what: by the rules alone, and over HTTP.

#include "server/serve/gateway/page_rules.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/in_process_server.h"

namespace headgate::gateway {
namespace {

bool MayCall(const std::string& origin, const std::string& host, bool is_tls = false,
             const PageRules& rules = {}) {
  http::Peer peer;
  peer.is_tls = is_tls;
  http::Request request;
  request.host = host;
  request.origin = origin;
  request.has_origin = true;
  request.peer = &peer;
  return MayPageCall(rules, request);
}

TEST(PageRules, LetTheOwnPageCallByAnAddressAndAsLocalhost) {
  EXPECT_TRUE(MayCall("http://127.0.0.1:8080", "127.0.0.1:8080"));
  EXPECT_TRUE(MayCall("http://[::1]:8080", "[::1]:8080"));
  EXPECT_TRUE(MayCall("http://10.0.0.7", "10.0.0.7"));
  EXPECT_TRUE(MayCall("http://localhost:8080", "localhost:8080"));
  EXPECT_TRUE(MayCall("http://headgate.localhost", "headgate.localhost"));
}

TEST(PageRules, KeepOutOtherHostsPortsAndSchemes) {
  EXPECT_FALSE(MayCall("http://evil.example", "127.0.0.1:8080"));
  EXPECT_FALSE(MayCall("http://127.0.0.1:9090", "127.0.0.1:8080"));
  EXPECT_FALSE(MayCall("http://127.0.0.1", "127.0.0.1:8080"));
  EXPECT_FALSE(MayCall("https://127.0.0.1:8080", "127.0.0.1:8080"));
  EXPECT_FALSE(MayCall("http://127.0.0.1:8080", "127.0.0.1:8080", /*is_tls=*/true));
  EXPECT_FALSE(MayCall("null", "127.0.0.1:8080"));
  EXPECT_FALSE(MayCall("", ""));
  EXPECT_FALSE(MayCall("http://", ""));
}

// Whose page points a name of its own at this server has that name in Origin and Host alike.
TEST(PageRules, KeepOutNamesInPlaintextThatSomebodyMayHavePointedHere) {
  EXPECT_FALSE(MayCall("http://evil.example:8080", "evil.example:8080"));
  EXPECT_FALSE(MayCall("http://localhost.evil.example", "localhost.evil.example"));
  EXPECT_FALSE(MayCall("http://127.0.0.1.evil.example", "127.0.0.1.evil.example"));
  EXPECT_FALSE(MayCall("http://[::1].evil.example", "[::1].evil.example"));
  EXPECT_TRUE(MayCall("https://headgate.example", "headgate.example", /*is_tls=*/true));
}

TEST(PageRules, LetInWhatAnOperatorNames) {
  const PageRules rules{.origins = {"https://headgate.example", "http://headgate:8080"}};
  EXPECT_TRUE(MayCall("https://headgate.example", "10.0.0.7:8080", false, rules));
  EXPECT_TRUE(MayCall("http://headgate:8080", "headgate:8080", false, rules));
  EXPECT_FALSE(MayCall("http://headgate.example", "headgate.example", false, rules));
  EXPECT_FALSE(MayCall("https://headgate.example", "x", false,
                       {.are_served = false, .origins = {"https://headgate.example"}}));
}

TEST(PageRules, TakeWhatIsNotKnownToReadForAChange) {
  for (const char* read :
       {"/v1/get_status", "/v1/list_overrides", "/v1/query_throttle_log", "/v1/explain"}) {
    EXPECT_TRUE(IsRead(read)) << read;
  }
  for (const char* change :
       {"/v1/create_override", "/v1/delete_override", "/v1/check", "/v1/batch_check", "/v1/report",
        "/v1/forget_costs", "/v1/forgive_debt", "/v1/anything", "/v1/getaway", ""}) {
    EXPECT_FALSE(IsRead(change)) << change;
  }
}

TEST(PageRules, KnowAnOrigin) {
  for (const char* origin : {"https://headgate.example", "http://[::1]:8080", "http://a_b-c"}) {
    EXPECT_TRUE(IsOrigin(origin)) << origin;
  }
  for (const char* other : {"", "headgate.example", "https://", "https://Headgate", "https://x/",
                            "https://user@x", "ftp://x", "https://x y"}) {
    EXPECT_FALSE(IsOrigin(other)) << other;
  }
}

class PageCallsTest : public testing::Test {
 protected:
  // As the server's own page sends it.
  static int Call(InProcessServer& server, const std::string& path,
                  const std::string& body = "{}") {
    HttpCaller caller(server.http_port());
    const std::string origin = "http://127.0.0.1:" + std::to_string(server.http_port());
    const auto result = caller.client().Post(path, {{"Origin", origin}}, body, "application/json");
    return result ? result->status : 0;
  }
  static constexpr char kCheck[] = R"({"identity": "etl", "estimated_cost": 60})";
};

TEST_F(PageCallsTest, ReadsWhereverThePageIsServed) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true});
  EXPECT_EQ(Call(server, "/v1/get_status"), 200);
  EXPECT_EQ(Call(server, "/v1/explain", R"({"check": {"identity": "etl"}})"), 200);
}

TEST_F(PageCallsTest, ChangesNothingWhereNobodyIsAskedWhoTheyAre) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true});
  EXPECT_EQ(Call(server, "/v1/check", kCheck), 403);
  EXPECT_EQ(server.Debt("etl"), 0);
}

TEST_F(PageCallsTest, ChangesWhatAnOperatorLetsIt) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)),
                         {.http = true, .pages = {.changes = PageChanges::kAlways}});
  EXPECT_EQ(Call(server, "/v1/check", kCheck), 200);
  EXPECT_EQ(server.Debt("etl"), 60);
}

TEST_F(PageCallsTest, TellsByOptionsWhetherThePageMayCall) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true});
  HttpCaller caller(server.http_port());
  const std::string origin = "http://127.0.0.1:" + std::to_string(server.http_port());
  EXPECT_EQ(caller.client().Options("/v1/get_status", {{"Origin", origin}})->status, 200);
  EXPECT_EQ(caller.client().Options("/v1/check", {{"Origin", origin}})->status, 403);
  const auto other = caller.client().Options("/v1/get_status", {{"Origin", "http://evil.example"}});
  EXPECT_EQ(other->status, 403);
  EXPECT_FALSE(other->has_header("Access-Control-Allow-Origin"));
}

// Two origins are nobody's, and one that is empty is not the page's.
TEST_F(PageCallsTest, RefusesAnOriginThatCanBeReadInTwoWays) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), {.http = true});
  HttpCaller caller(server.http_port());
  const std::string own = "http://127.0.0.1:" + std::to_string(server.http_port());
  const httplib::Headers two = {{"Origin", own}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(caller.client().Post("/v1/get_status", two, "{}", "application/json")->status, 403);
  EXPECT_EQ(
      caller.client().Post("/v1/get_status", {{"Origin", ""}}, "{}", "application/json")->status,
      403);
}

}  // namespace
}  // namespace headgate::gateway
