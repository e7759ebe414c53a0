// Leases of a client and a real server, with threads.

#include <headgate/lease.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/real_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::RowKey;

// The server's time is moved by hand, and is the client's as well.
class LeaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Lease> NewLease(LeaseOptions options = {}) {
    absl::StatusOr<std::unique_ptr<Lease>> lease = client_->NewLease(std::move(options));
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
  bool Holds(const Lease& lease) {
    return WaitUntil([&] { return lease.stats().held > 0; });
  }
  std::map<Outcome, Counts> Counted() {
    server_.recorder.Collect({}, [this](const RowKey& key, const Counts& counts) {
      EXPECT_EQ(key.identity, "backfill:etl");
      counted_[key.outcome].Add(counts);
    });
    return counted_;
  }

  RealServer server_{OneBudget(RateBudget("rows", 1000, 1000))};
  // However slow the machine is, what is given back arrives.
  std::unique_ptr<Client> client_ = [this] {
    ClientOptions options = Options();
    options.flush_timeout = absl::Seconds(60);
    return server_.NewClient(std::move(options));
  }();
  std::map<Outcome, Counts> counted_;
};

TEST_F(LeaseTest, RefusesOptionsThatMeanNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(client_->NewLease({.piece = -1}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client_->NewLease({.piece = 1e300}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(client_->NewLease({.time = absl::Milliseconds(99)}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client_->NewLease({.time = absl::Seconds(11)}).status()));
  const auto lease = NewLease();
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Admit(-1).error));
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Wait(1e300, kForever)));
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Settle(1, {.actual_cost = -1})));
}

TEST_F(LeaseTest, OfManyThreadsSpendsWhatIsDueAndNoMore) {
  const auto lease = NewLease({.piece = 1});
  std::atomic<int> admitted = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!done.load()) {
        if (lease->Admit(1)) {
          ++admitted;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  // All of the burst, and no more while time stands still.
  EXPECT_TRUE(WaitUntil([&] { return admitted.load() == 1000; }));
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted.load(), 1000);
  const LeaseStats stats = lease->stats();
  EXPECT_EQ(stats.admitted, 1000);
  lease->Close();
  ASSERT_TRUE(Flushed(*client_));
  EXPECT_EQ(Counted()[Outcome::kAllowed].checks, 1000);
  EXPECT_EQ(Counted()[Outcome::kDenied].checks, lease->stats().refused);
}

TEST_F(LeaseTest, WhoWaitsStandsInTheServersLine) {
  const auto lease = NewLease({.piece = 100});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(lease->Wait(100, kForever).ok());
  std::thread waiter([&] { EXPECT_TRUE(lease->Wait(100, kForever).ok()); });
  EXPECT_TRUE(WaitUntil([&] { return server_.line_stats().waiting == 1; }));
  server_.Advance(absl::Milliseconds(100));
  waiter.join();
}

TEST_F(LeaseTest, AWaitEndsWithItsTimeWithItsStopAndWithTheLease) {
  const auto lease = NewLease({.piece = 1000});
  ASSERT_TRUE(lease->Wait(1000, kForever).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(lease->Wait(1000, absl::ZeroDuration())));
  std::stop_source stop;
  std::thread stopped(
      [&] { EXPECT_TRUE(absl::IsCancelled(lease->Wait(1000, kForever, stop.get_token()))); });
  std::thread closed([&] { EXPECT_TRUE(absl::IsCancelled(lease->Wait(1000, kForever))); });
  EXPECT_TRUE(WaitUntil([&] { return server_.line_stats().waiting == 1; }));
  stop.request_stop();
  stopped.join();
  lease->Close();
  closed.join();
}

TEST_F(LeaseTest, APauseReachesItWithinItsTime) {
  const auto lease = NewLease({.piece = 1});
  ASSERT_TRUE(lease->Wait(1, kForever).ok());
  engine::PolicySpec paused = OneBudget(RateBudget("rows", 1000, 1000));
  paused.rules.push_back(engine::RuleOn("pause", "etl", engine::DenyAction{}));
  ASSERT_TRUE(server_.engine.Install(std::move(paused), server_.clock.Read()).ok());
  server_.Advance(absl::Seconds(1));
  EXPECT_TRUE(WaitUntil([&] {
    const Admission admission = lease->Admit(1);
    EXPECT_FALSE(admission.admitted);
    return admission.reason == Reason::kDenyRule;
  }));
}

TEST_F(LeaseTest, ItsClientClosesIt) {
  auto lease = NewLease({.piece = 10});
  ASSERT_TRUE(lease->Wait(10, kForever).ok());
  client_ = nullptr;
  EXPECT_TRUE(absl::IsCancelled(lease->Admit(1).error));
  EXPECT_NEAR(server_.Debt("backfill:etl"), 10, 1e-6);
}

}  // namespace
}  // namespace headgate::client
