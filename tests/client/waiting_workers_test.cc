// Many workers of one process that wait in the server at a time, over real sockets and real time.

#include <headgate/client.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

// More than a server takes of one connection at a time: the Reports of those who work must not wait
// behind the Checks of those who wait for them.
TEST(WaitingWorkers, DoNotHoldUpTheReportsThatTheyWaitFor) {
  constexpr int kWorkers = 150;
  InProcessServer server(engine::OneBudget(engine::ConcurrencyBudget("b", 1)));
  // The server's clock stands still, so that it lets nobody's time run out: calls have to last.
  const auto created =
      Client::Create({.on_unreachable = OnUnreachable::Fail(), .check_deadline = absl::Minutes(10)},
                     NewGrpcTransport(server.address()));
  ASSERT_TRUE(created.ok()) << created.status();
  Client& client = **created;
  std::atomic<int> done = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&] {
      auto permit = client.CheckOrWait({.identity = "job:etl"}, absl::Minutes(10));
      // Once all others wait, as far as they have come.
      EXPECT_TRUE(WaitUntil(
          [&] { return static_cast<int>(server.line_stats().waiting) + done + 1 == kWorkers; },
          absl::Minutes(2)));
      ++done;
      ASSERT_TRUE(permit.ok());
      EXPECT_TRUE(permit->Report().ok());
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(done, kWorkers);
}

}  // namespace
}  // namespace headgate::client
