// What the HTTP port does when more comes at a time than it has room for.

#include "server/web/http_port.h"

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/wait_until.h"

namespace headgate::web {
namespace {

using testing::StartsWith;

constexpr char kRequest[] = "GET / HTTP/1.1\r\n\r\n";
constexpr char kResponse[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

class HttpPortTest : public testing::Test {
 protected:
  void Listen(size_t max_connections, HttpPort::AtOnce at_once, HttpPort::InTime in_time) {
    auto port =
        HttpPort::Listen({.address = "127.0.0.1:0",
                          .max_connections = max_connections,
                          .request_timeout = absl::Minutes(5)},
                         clock_, std::move(at_once), std::move(in_time),
                         // relaxed: a test only waits for it.
                         [this](int status) { refused_.store(status, std::memory_order_relaxed); });
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
  }

  SystemClock clock_;
  std::atomic<int> refused_{0};
  std::unique_ptr<HttpPort> port_;
};

// All of them are there when the port looks up: it accepts them one after the other.
TEST_F(HttpPortTest, AnswersARequestThatCameBeforeManyConnectionsThatSayNothing) {
  absl::Notification busy;
  absl::Notification go_on;
  Listen(
      8,
      [&](std::string_view) {
        if (!busy.HasBeenNotified()) {
          busy.Notify();
          go_on.WaitForNotification();
        }
        return kResponse;
      },
      [](std::string_view) { return kResponse; });
  RawSocket first(port_->port());
  EXPECT_TRUE(first.SendAll(kRequest));
  busy.WaitForNotification();
  RawSocket probe(port_->port());
  EXPECT_TRUE(probe.SendAll(kRequest));
  std::deque<RawSocket> silent;
  for (int i = 0; i < 50; ++i) silent.emplace_back(port_->port());
  go_on.Notify();
  EXPECT_THAT(probe.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpPortTest, TellsOfRequestsThatItTurnsAwayBecauseTooManyWait) {
  absl::Notification go_on;
  Listen(
      1, [](std::string_view) { return std::nullopt; },
      [&](std::string_view) {
        go_on.WaitForNotification();
        return kResponse;
      });
  std::deque<RawSocket> asking;
  EXPECT_TRUE(WaitUntil([&] {
    asking.emplace_back(port_->port());
    EXPECT_TRUE(asking.back().SendAll(kRequest));
    return refused_.load(std::memory_order_relaxed) == 503;
  }));
  go_on.Notify();
  port_ = nullptr;  // it may still be answering
}

TEST_F(HttpPortTest, TellsOfRequestsThatAreTooLarge) {
  const auto answer = [](std::string_view) { return kResponse; };
  Listen(8, answer, answer);
  RawSocket socket(port_->port());
  EXPECT_TRUE(socket.SendAll("GET /" + std::string(20'000, 'x')));
  EXPECT_THAT(socket.ReceiveAll(), StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(refused_.load(std::memory_order_relaxed), 431);
}

}  // namespace
}  // namespace headgate::web
