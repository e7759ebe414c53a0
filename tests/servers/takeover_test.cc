// Targets find their owners, and new ones when those go or die: callers count what they are told.

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"

namespace headgate {
namespace {

// What one server would admit in so long: the burst, and what drains.
double PromiseOf(double burst, double rate, absl::Duration span) {
  return burst + rate * absl::ToDoubleSeconds(span);
}

class Takeover : public testing::Test {
 protected:
  Deployment servers_;
};

TEST_F(Takeover, AnyServerAnswersForAnyTarget) {
  ASSERT_TRUE(servers_.AwaitOwners());
  for (int server = 0; server < servers_.size(); ++server) {
    for (const std::string& target : servers_.targets()) {
      EXPECT_EQ(servers_.Check(server, target, "job").verdict(), v1::VERDICT_ALLOWED);
    }
  }
}

// The burst is one, whoever is asked.
TEST_F(Takeover, ABudgetIsOneForAllServers) {
  ASSERT_TRUE(servers_.AwaitOwners());
  const int64_t started_ns = MonotonicNs();
  double admitted = 0;
  for (int i = 0; i < 60; ++i) {
    for (int server = 0; server < servers_.size(); ++server) {
      if (servers_.Check(server, "orders", "job", 10).verdict() == v1::VERDICT_ALLOWED) {
        admitted += 10;
      }
    }
  }
  const absl::Duration span = absl::Nanoseconds(MonotonicNs() - started_ns);
  EXPECT_GE(admitted, 500);
  EXPECT_LE(admitted, PromiseOf(500, 100, span));
}

TEST_F(Takeover, AServerThatStopsHandsItsTargetsOver) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  SteadyCaller caller(servers_, other, "orders", 10);
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > 100; }));
  EXPECT_TRUE(servers_[owner].Stop().ok()) << servers_[owner].Log();
  ASSERT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") != owner; }));
  const int64_t asked = caller.asked();
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > asked + 100; }));
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
  EXPECT_LE(caller.admitted(), PromiseOf(500, 100, caller.span()));
}

TEST_F(Takeover, AServerThatIsKilledIsReplaced) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  SteadyCaller caller(servers_, other, "orders", 10);
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > 100; }));
  servers_[owner].Kill();
  const int64_t killed_ns = MonotonicNs();
  ASSERT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") != owner; }));
  ASSERT_TRUE(servers_.AwaitOwners(other));
  RecordProperty("takeover_ms", static_cast<int>((MonotonicNs() - killed_ns) / 1'000'000));
  EXPECT_LT(MonotonicNs() - killed_ns, int64_t{60} * 1'000'000'000);
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
  EXPECT_LE(caller.admitted(), PromiseOf(500, 100, caller.span()));
}

// It wakes up with a target that is somebody else's by then.
TEST_F(Takeover, AServerThatSleptThroughItsLeaseAdmitsNothing) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  SteadyCaller at_owner(servers_, owner, "orders", 10);
  SteadyCaller at_other(servers_, (owner + 1) % servers_.size(), "orders", 10);
  ASSERT_TRUE(WaitUntil([&] { return at_owner.asked() > 50 && at_other.asked() > 50; }));
  servers_[owner].Signal(SIGSTOP);
  EXPECT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") != owner; }));
  servers_[owner].Signal(SIGCONT);
  const int64_t asked = at_owner.asked();
  ASSERT_TRUE(WaitUntil([&] { return at_owner.asked() > asked + 100; }));
  at_owner.Stop();
  at_other.Stop();
  EXPECT_LE(at_owner.admitted() + at_other.admitted(),
            PromiseOf(500, 100, std::max(at_owner.span(), at_other.span())));
}

}  // namespace
}  // namespace headgate
