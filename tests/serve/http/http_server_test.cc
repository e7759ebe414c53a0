// What the port makes of callers who mean well, and of those who do not.

#include "server/serve/http/http_server.h"

#include <deque>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/serve/http/handler.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/wait_until.h"

namespace headgate::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Says what it was asked. Of /later the answer is put off, and for /throws there is no memory.
class Echo final : public Handler {
 public:
  bool Handle(const Request& request, Response& response, Exchange& exchange) override {
    ++handled;
    if (request.path == "/throws") throw std::bad_alloc();
    if (request.path == "/later") {
      later = exchange.Defer(nullptr);
      if (later != nullptr) return false;
      response.status = 503;
    }
    response.body = request.path == "/large"
                        ? std::string(16 << 20, 'x')
                        : absl::StrCat(std::string(request.path), "?", std::string(request.body));
    return true;
  }
  void OnRefused(int status) override { refused = status; }

  // Set by the port's thread, and read when it has answered.
  std::atomic<int> handled{0};
  std::atomic<int> refused{0};
  std::shared_ptr<Deferred> later;
};

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto started = HttpServer::Start(options, clock_, echo_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  std::string Say(const std::string& request) {
    RawSocket socket(server_->port());
    socket.SendAll(request);
    return socket.ReceiveAll();
  }
  static std::string Get(const std::string& path, const std::string& more = "") {
    return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n", more, "\r\n");
  }
  static std::string Last(const std::string& path) { return Get(path, "Connection: close\r\n"); }
  static std::string Post(const std::string& fields, const std::string& body) {
    return absl::StrCat("POST /a HTTP/1.1\r\nHost: x\r\n", fields, "\r\n", body);
  }

  SystemClock clock_;
  Echo echo_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOtherOnOneConnection) {
  Start();
  RawSocket socket(server_->port());
  std::string all;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(socket.SendAll(Get(absl::StrCat("/", i))));
    std::array<char, 4096> some;
    const ssize_t size = recv(socket.fd(), some.data(), some.size(), 0);
    ASSERT_GT(size, 0);
    EXPECT_THAT(std::string(some.data(), static_cast<size_t>(size)),
                testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                               EndsWith(absl::StrCat("\r\n\r\n/", i, "?"))));
  }
  EXPECT_EQ(server_->connections().accepted, 1);
}

TEST_F(HttpServerTest, ExceptionOfAHandlerEndsItsConnectionAlone) {
  Start();
  const RawSocket other(server_->port());
  EXPECT_EQ(Say(Get("/throws")), "");
  ASSERT_TRUE(other.SendAll(Last("/")));
  EXPECT_THAT(other.ReceiveAll(), EndsWith("/?"));
  EXPECT_THAT(Say(Last("/")), EndsWith("/?"));
}

TEST_F(HttpServerTest, ExceptionWhileAConnectionIsWelcomedKeepsNobodyElseOut) {
  HttpServerOptions options;
  options.tls = [throws = true]() mutable -> std::shared_ptr<SSL_CTX> {
    if (std::exchange(throws, false)) throw std::bad_alloc();
    return nullptr;
  };
  Start(options);
  EXPECT_EQ(Say(Last("/")), "");
  EXPECT_THAT(Say(Last("/")), EndsWith("/?"));
}

TEST_F(HttpServerTest, EndsAConnectionThatAsksForItOrIsOfHttp10) {
  Start();
  EXPECT_THAT(Say(Last("/")), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(Say("GET / HTTP/1.0\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(HttpServerTest, TakesBodiesByLengthAndInChunks) {
  Start();
  EXPECT_THAT(Say(Post("Connection: close\r\nContent-Length: 5\r\n", "hello")),
              EndsWith("/a?hello"));
  EXPECT_THAT(Say(Post("Connection: close\r\nTransfer-Encoding: chunked\r\n",
                       "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nAuthorization: Bearer no\r\n\r\n")),
              EndsWith("/a?hello"));
}

TEST_F(HttpServerTest, SaysThatABodyMayCome) {
  Start();
  RawSocket socket(server_->port());
  ASSERT_TRUE(socket.SendAll(
      Post("Connection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n", "")));
  std::array<char, 4096> some;
  const ssize_t size = recv(socket.fd(), some.data(), some.size(), 0);
  EXPECT_EQ(std::string(some.data(), static_cast<size_t>(size)), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(socket.SendAll("hello"));
  EXPECT_THAT(socket.ReceiveAll(), EndsWith("/a?hello"));
}

// Whatever two programs could read in two ways.
TEST_F(HttpServerTest, RefusesRequestsThatCouldHideAnother) {
  Start();
  const std::string chunks = "5\r\nhello\r\n0\r\n\r\n";
  for (const char* fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n", "Content-Length: 0x5\r\n",
        "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n",
        "Content-Length : 5\r\n", "Transfer-Encoding : chunked\r\n", "Host: y\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    EXPECT_THAT(Say(Post(fields, chunks)), StartsWith("HTTP/1.1 400")) << fields;
  }
  for (const char* coding : {"gzip, chunked", "chunked, gzip", "xchunked", "identity",
                             "\x0b"
                             "chunked"}) {
    EXPECT_THAT(Say(Post(absl::StrCat("Transfer-Encoding: ", coding, "\r\n"), chunks)),
                testing::AnyOf(StartsWith("HTTP/1.1 501"), StartsWith("HTTP/1.1 400")))
        << coding;
  }
  for (const std::string request :
       {"GET /\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: x\r\nA\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}) {
    const std::string answer = Say(request + "\r\n\r\n");
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 505")))
        << request;
  }
  EXPECT_EQ(echo_.handled, 0);
  EXPECT_THAT(Say(Last("/")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RefusesWhatIsTooLargeOrCompressed) {
  Start({.limits = {.max_body_bytes = 1000}});
  EXPECT_THAT(Say(Get(std::string(20'000, 'x'))), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(Say(Get("/", absl::StrCat("A: ", std::string(20'000, 'x'), "\r\n"))),
              StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(echo_.refused, 431);
  EXPECT_THAT(Say(Post("Content-Length: 1001\r\n", "")), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Say(Post("Transfer-Encoding: chunked\r\n",
                       absl::StrCat("3e9\r\n", std::string(1001, 'x'), "\r\n0\r\n\r\n"))),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Say(Post("Content-Length: 5\r\nContent-Encoding: gzip\r\n", "hello")),
              testing::AllOf(StartsWith("HTTP/1.1 415"),
                             EndsWith(R"({"code":3,"message":"compressed bodies are not taken: )"
                                      R"(send it without a Content-Encoding"})")));
  EXPECT_THAT(Say(Post("Content-Length: 5\r\nExpect: tea\r\n", "hello")),
              StartsWith("HTTP/1.1 417"));
  EXPECT_EQ(echo_.handled, 0);
  EXPECT_THAT(Say(Last("/")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, HasNoBodyForARefusedHead) {
  Start();
  EXPECT_THAT(Say("HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 400"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, TakesOtherLimitsWhileItRuns) {
  Start({.limits = {.max_connections = 8}});
  server_->SetLimits({.max_connections = 16, .max_body_bytes = 3});
  EXPECT_THAT(Say(Post("Content-Length: 4\r\n", "abcd")), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(server_->connections().max_open, 16);
}

// Neither fields behind a body nor what is said of a chunk has a length.
TEST_F(HttpServerTest, RefusesWhatHasNoEnd) {
  Start();
  for (const std::string& begin : {std::string("0\r\nA: "), std::string("5;a=")}) {
    EXPECT_THAT(Say(Post("Transfer-Encoding: chunked\r\n", begin + std::string(100'000, 'x'))),
                StartsWith("HTTP/1.1 4"));
  }
  EXPECT_THAT(Say(Last("/")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, NeverTakesWhatIsBehindARequestForOne) {
  Start();
  const std::string answers = Say(Get("/a") + Get("/b") + Get("/c"));
  EXPECT_THAT(answers, testing::AllOf(HasSubstr("Connection: close"), EndsWith("/a?")));
  EXPECT_EQ(echo_.handled, 1);
}

TEST_F(HttpServerTest, EndsARequestThatDoesNotComeInTimeWithoutAnAnswer) {
  Start({.request_timeout = absl::Milliseconds(50)});
  for (const std::string& begin :
       {std::string(), std::string("GET / HT"), Post("Content-Length: 5\r\n", "hel")}) {
    RawSocket slow(server_->port());
    slow.SendAll(begin);                        // unless its time is over by now
    EXPECT_EQ(slow.ReceiveAll(), "") << begin;  // it returns when the server has ended it
  }
}

TEST_F(HttpServerTest, EndsAConnectionThatAsksForNothingMore) {
  Start({.request_timeout = absl::Minutes(5), .idle_timeout = absl::Milliseconds(50)});
  RawSocket idle(server_->port());
  EXPECT_TRUE(idle.SendAll(Get("/")));
  EXPECT_THAT(idle.ReceiveAll(), StartsWith("HTTP/1.1 200"));  // and then nothing
}

TEST_F(HttpServerTest, CutsWhoDoesNotRead) {
  Start({.response_timeout = absl::Milliseconds(50)});
  RawSocket deaf(server_->port());
  EXPECT_TRUE(deaf.SendAll(Get("/large")));
  EXPECT_TRUE(WaitUntil([&] { return echo_.handled == 1 && server_->connections().open == 0; }));
}

TEST_F(HttpServerTest, BoundsWhatAllResponsesTake) {
  Start({.max_shared_bytes = size_t{8} << 20});
  std::deque<RawSocket> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.emplace_back(server_->port());
    EXPECT_TRUE(deaf.back().SendAll(Get("/large")));
  }
  // Some are cut, and those who read are answered.
  EXPECT_TRUE(WaitUntil([&] { return echo_.handled == 5 && server_->connections().open < 4; }));
  EXPECT_THAT(Say(Last("/")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnswersWhileManySayNothing) {
  Start({.limits = {.max_connections = 16}, .request_timeout = absl::Minutes(5)});
  std::deque<RawSocket> silent;
  for (int i = 0; i < 60; ++i) {
    silent.emplace_back(server_->port());
    EXPECT_TRUE(silent.back().SendAll("GET /hea"));
    if (i % 10 == 0) {
      EXPECT_THAT(Say(Last("/")), StartsWith("HTTP/1.1 200"));
    }
  }
  EXPECT_TRUE(WaitUntil([&] { return silent.front().IsEnded(); }));
  EXPECT_LE(server_->connections().open, 16);
  EXPECT_TRUE(WaitUntil([&] { return server_->connections().evicted >= 44; }));
}

class Heard final : public transport::ParkListener {
 public:
  void OnGone() override { gone = true; }
  void OnAnswered(bool delivered) override { answered = delivered ? 1 : 0; }

  std::atomic<bool> gone{false};
  std::atomic<int> answered{-1};
};

// Puts every answer off.
class Putter final : public Handler {
 public:
  bool Handle(const Request& /*request*/, Response& /*response*/, Exchange& exchange) override {
    deferred = exchange.Defer(heard);
    is_there = true;
    return false;
  }

  const std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  std::shared_ptr<Deferred> deferred;
  std::atomic<bool> is_there{false};
};

class DeferredTest : public testing::Test {
 protected:
  DeferredTest() {
    auto started = HttpServer::Start({.address = "127.0.0.1:0"}, clock_, putter_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    socket_.emplace(server_->port());
    EXPECT_TRUE(socket_->SendAll("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_TRUE(WaitUntil([&] { return putter_.is_there.load(); }));
  }
  bool Answer() {
    return putter_.deferred->Respond([] { return Response{.body = "late"}; });
  }

  SystemClock clock_;
  Putter putter_;
  std::unique_ptr<HttpServer> server_;
  std::optional<RawSocket> socket_;
};

TEST_F(DeferredTest, AnswerIsSentAndTold) {
  EXPECT_FALSE(putter_.deferred->gone());
  EXPECT_TRUE(Answer());
  EXPECT_FALSE(Answer());
  EXPECT_THAT(socket_->ReceiveAll(), EndsWith("\r\n\r\nlate"));
  EXPECT_TRUE(WaitUntil([&] { return putter_.heard->answered == 1; }));
  EXPECT_FALSE(putter_.heard->gone);
}

TEST_F(DeferredTest, WhoHangsUpIsGone) {
  socket_.reset();
  EXPECT_TRUE(WaitUntil([&] { return putter_.heard->gone.load(); }));
  EXPECT_TRUE(putter_.deferred->gone());
  EXPECT_FALSE(Answer());
}

TEST_F(DeferredTest, APortThatStopsTellsWhoWaits) {
  server_ = nullptr;
  EXPECT_TRUE(putter_.heard->gone);
  EXPECT_FALSE(Answer());
}

TEST_F(DeferredTest, WhoeverListensLaterHearsOfItsEnd) {
  const auto later = std::make_shared<Heard>();
  EXPECT_TRUE(putter_.deferred->Listen(later));
  socket_.reset();
  EXPECT_TRUE(WaitUntil([&] { return later->gone.load(); }));
  EXPECT_FALSE(putter_.heard->gone);
  EXPECT_FALSE(putter_.deferred->Listen(std::make_shared<Heard>()));
}

TEST(HttpServer, SaysThatItsAddressIsTaken) {
  SystemClock clock;
  Echo echo;
  auto first = HttpServer::Start({.address = "127.0.0.1:0"}, clock, echo);
  ASSERT_TRUE(first.ok());
  const auto second =
      HttpServer::Start({.address = absl::StrCat("127.0.0.1:", (*first)->port())}, clock, echo);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace headgate::http
