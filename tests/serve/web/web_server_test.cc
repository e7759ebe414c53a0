// The HTTP port with a real client, and with clients that mean ill.

#include "server/serve/web/web_server.h"

#include <httplib.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/wait_until.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A request that ends its connection.
std::string Get(const std::string& path, const std::string& more = "") {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", more, "\r\n");
}

class Hello final : public http::Handler {
 public:
  bool Handle(const http::Request& /*request*/, http::Response& response,
              http::Exchange& /*exchange*/) override {
    response.body = "hello";
    return true;
  }
};

class WebServerTest : public testing::Test {
 protected:
  void Start(http::HttpServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto started = WebServer::Start({.probes = options}, clock_, readiness_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_->probe_port());
    client_->set_read_timeout(60);  // its own 5 s a busy machine may take
  }
  std::string Say(const std::string& request) {
    RawSocket socket(server_->probe_port());
    EXPECT_TRUE(socket.SendAll(request));
    return socket.ReceiveAll();
  }

  SystemClock clock_;
  Readiness readiness_{clock_, absl::Seconds(30)};
  std::unique_ptr<WebServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(WebServerTest, TellsMetricsOfAllCollectors) {
  Start();
  server_->Add([](Exposition& out) { out.Gauge("headgate_a", "A.").Set({}, 1); });
  server_->Add([](Exposition& out) { out.Gauge("headgate_b", "B.").Set({}, 2); });
  const auto response = client_->Get("/metrics");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response->body, HasSubstr("\nheadgate_a 1\n"));
  EXPECT_THAT(response->body, HasSubstr("\nheadgate_b 2\n"));
  EXPECT_THAT(response->body, HasSubstr("\nheadgate_ready{state=\"starting\"} 1\n"));
}

TEST_F(WebServerTest, TellsReadinessWithTheReason) {
  Start();
  const auto starting = client_->Get("/readyz");
  ASSERT_TRUE(starting);
  EXPECT_EQ(starting->status, 503);
  EXPECT_EQ(starting->body, "starting: the configuration is not in force yet\n");
  readiness_.Serve([] { return std::vector<health::TargetSnapshot>(); });
  const auto ready = client_->Get("/readyz");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, 200);
  EXPECT_EQ(ready->body, "ready\n");
  readiness_.Drain();
  const auto draining = client_->Get("/readyz");
  ASSERT_TRUE(draining);
  EXPECT_EQ(draining->status, 503);
  EXPECT_EQ(draining->body, "draining: the server is stopping\n");
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
}

TEST_F(WebServerTest, AnswersHeadWithoutABody) {
  Start();
  const auto response = client_->Head("/healthz");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->get_header_value("Content-Length"), "3");
  EXPECT_TRUE(response->body.empty());
}

TEST_F(WebServerTest, KnowsNoOtherPathAndNoOtherMethod) {
  Start();
  for (const char* path : {"/", "/metrics/", "/METRICS", "/../etc/passwd", "/healthz/x"}) {
    const auto response = client_->Get(path);
    ASSERT_TRUE(response) << path;
    EXPECT_EQ(response->status, 404) << path;
  }
  EXPECT_EQ(client_->Get("/healthz?probe=1")->status, 200);
  EXPECT_EQ(client_->Post("/metrics", "body", "text/plain")->status, 405);
  EXPECT_EQ(client_->Delete("/metrics")->status, 405);
  EXPECT_EQ(client_->Options("/metrics")->status, 405);
}

TEST_F(WebServerTest, CountsItsRequests) {
  Start();
  client_->Get("/healthz");
  client_->Get("/nowhere");
  client_->Get("/elsewhere");
  const auto response = client_->Get("/metrics");
  ASSERT_TRUE(response);
  EXPECT_THAT(response->body,
              HasSubstr("headgate_http_requests_total{path=\"/healthz\",code=\"200\"} 1\n"));
  EXPECT_THAT(response->body,
              HasSubstr("headgate_http_requests_total{path=\"other\",code=\"404\"} 2\n"));
}

TEST_F(WebServerTest, CountsWhatItRefuses) {
  Start();
  Say("nonsense\r\n\r\n");
  Say(absl::StrCat("GET /healthz HTTP/1.1\r\nX: ", std::string(20'000, 'x')));
  client_->Post("/metrics", "body", "text/plain");
  client_->Get("/readyz");
  const auto response = client_->Get("/metrics");
  ASSERT_TRUE(response);
  for (const char* code : {"400", "431", "405"}) {
    EXPECT_THAT(response->body,
                HasSubstr(absl::StrCat("headgate_http_requests_total{path=\"other\",code=\"", code,
                                       "\"} 1\n")));
  }
  EXPECT_THAT(response->body,
              HasSubstr("headgate_http_requests_total{path=\"/readyz\",code=\"503\"} 1\n"));
}

TEST_F(WebServerTest, RefusesWhatIsNoRequest) {
  Start();
  for (const std::string request :
       {"nonsense\r\n\r\n", "GET\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(Say(request), StartsWith("HTTP/1.1 400")) << request;
  }
  EXPECT_THAT(Say("GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 505"));
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
}

TEST_F(WebServerTest, RefusesARequestThatIsTooLarge) {
  Start();
  EXPECT_THAT(Say(absl::StrCat("GET /healthz HTTP/1.1\r\nX: ", std::string(20'000, 'x'))),
              StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
}

TEST_F(WebServerTest, IgnoresRangesThatWouldMultiplyTheResponse) {
  Start();
  std::string ranges = "0-2";
  for (int i = 0; i < 500; ++i) ranges += ",0-2";
  const std::string response = Say(Get("/healthz", absl::StrCat("Range: bytes=", ranges, "\r\n")));
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200"));
  EXPECT_LT(response.size(), 1000);
}

TEST_F(WebServerTest, CutsAClientThatDoesNotFinishItsRequest) {
  Start({.request_timeout = absl::Milliseconds(50)});
  RawSocket slow(server_->probe_port());
  slow.SendAll("GET /healthz HTTP/1.1\r\n");  // unless its time is over by now
  EXPECT_EQ(slow.ReceiveAll(), "");           // it returns when the server has ended it
}

TEST_F(WebServerTest, CutsAClientThatDoesNotReadItsResponse) {
  Start({.response_timeout = absl::Milliseconds(50)});
  const std::string large(16 << 20, 'x');
  server_->Add([&](Exposition& out) { out.Gauge("headgate_a", large).Set({}, 1); });
  RawSocket slow(server_->probe_port());
  EXPECT_TRUE(slow.SendAll(Get("/metrics")));
  EXPECT_TRUE(WaitUntil([&] { return !slow.SendAll("x"); }));  // the server's side is gone
  server_ = nullptr;                                           // it may still be collecting
}

TEST_F(WebServerTest, AnswersWhileManyClientsSayNothing) {
  Start({.limits = {.max_connections = 8}, .request_timeout = absl::Minutes(5)});
  std::deque<RawSocket> silent;
  for (int i = 0; i < 50; ++i) {
    silent.emplace_back(server_->probe_port());
    EXPECT_TRUE(silent.back().SendAll("GET /hea"));
  }
  for (int i = 0; i < 10; ++i) {
    const auto response = client_->Get("/healthz");
    ASSERT_TRUE(response) << i;
    EXPECT_EQ(response->status, 200);
  }
  EXPECT_TRUE(WaitUntil([&] { return silent.front().IsEnded(); }));
}

TEST_F(WebServerTest, AnswersProbesWhileAScrapeHangsAndOthersWait) {
  constexpr size_t kMax = 8;
  Start({.limits = {.max_connections = kMax}});
  readiness_.Serve([] { return std::vector<health::TargetSnapshot>(); });
  absl::Notification collecting;
  absl::Notification go_on;
  server_->Add([&](Exposition&) {
    if (collecting.HasBeenNotified()) return;
    collecting.Notify();
    go_on.WaitForNotification();
  });
  RawSocket scrape(server_->probe_port());
  EXPECT_TRUE(scrape.SendAll(Get("/metrics")));
  collecting.WaitForNotification();
  std::deque<RawSocket> others;
  for (size_t i = 0; i < kMax - 3; ++i) {
    others.emplace_back(server_->probe_port());
    EXPECT_TRUE(others.back().SendAll(Get("/metrics")));
  }
  for (const char* probe : {"/healthz", "/readyz"}) {
    const auto response = client_->Get(probe);
    ASSERT_TRUE(response) << probe;
    EXPECT_EQ(response->status, 200) << probe;
  }
  go_on.Notify();
  EXPECT_THAT(scrape.ReceiveAll(), StartsWith("HTTP/1.1 200"));
  server_ = nullptr;
}

TEST_F(WebServerTest, AnswersMetricsAndProbesAloneOnAPortOfTheirOwn) {
  auto started = WebServer::Start({.main = http::HttpServerOptions{.address = "127.0.0.1:0"},
                                   .probes = http::HttpServerOptions{.address = "127.0.0.1:0"}},
                                  clock_, readiness_);
  ASSERT_TRUE(started.ok()) << started.status();
  Hello api;
  (*started)->SetApi(&api);
  httplib::Client main("127.0.0.1", (*started)->port());
  httplib::Client probes("127.0.0.1", (*started)->probe_port());
  EXPECT_EQ(main.Get("/hello")->body, "hello");
  EXPECT_EQ(probes.Get("/hello")->status, 404);
  for (httplib::Client* const client : {&main, &probes}) {
    EXPECT_EQ(client->Get("/healthz")->status, 200);
    EXPECT_EQ(client->Get("/readyz")->status, 503);
    EXPECT_EQ(client->Get("/metrics")->status, 200);
  }
}

TEST_F(WebServerTest, SaysWhenTheApiIsNotThereYetOrAnyMore) {
  auto started = WebServer::Start({.main = http::HttpServerOptions{.address = "127.0.0.1:0"}},
                                  clock_, readiness_);
  ASSERT_TRUE(started.ok()) << started.status();
  Hello api;
  httplib::Client client("127.0.0.1", (*started)->port());
  const auto before = client.Get("/hello");
  EXPECT_EQ(before->status, 503);
  EXPECT_EQ(before->get_header_value("Retry-After"), "1");
  EXPECT_EQ(before->body, R"({"code":14,"message":"the server is starting"})");
  (*started)->SetApi(&api);
  EXPECT_EQ(client.Get("/hello")->status, 200);
  (*started)->EndApi();
  EXPECT_EQ(client.Get("/hello")->body, R"({"code":14,"message":"the server is shutting down"})");
}

TEST_F(WebServerTest, AnswersARequestThatComesInPieces) {
  Start();
  RawSocket socket(server_->probe_port());
  for (const char byte : Get("/healthz")) ASSERT_TRUE(socket.SendAll(std::string(1, byte)));
  EXPECT_THAT(socket.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebServerTest, SaysThatItsAddressIsTaken) {
  Start();
  const std::string address = absl::StrCat("127.0.0.1:", server_->probe_port());
  const auto second =
      WebServer::Start({.main = http::HttpServerOptions{.address = address}}, clock_, readiness_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.status().message(),
            absl::StrCat("HTTP: cannot listen on '", address, "': Address already in use"));
}

TEST_F(WebServerTest, ListensOnIpv6) {
  auto started = WebServer::Start({.probes = http::HttpServerOptions{.address = "[::1]:0"}}, clock_,
                                  readiness_);
  if (!started.ok()) GTEST_SKIP() << started.status();
  EXPECT_EQ(httplib::Client("::1", (*started)->probe_port()).Get("/healthz")->status, 200);
}

}  // namespace
}  // namespace headgate::web
