// A server is cut off from the store, from the other servers, or from both, by network namespaces:
// callers count what they are told.

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/networks.h"
#include "tests/servers/steady_caller.h"

namespace headgate {
namespace {

class MoveIn : public testing::Environment {
 public:
  void SetUp() override { Networks::MoveIn(); }
};
const testing::Environment* const kMoveIn = testing::AddGlobalTestEnvironment(new MoveIn);

class Partition : public testing::Test {
 protected:
  // A Check is held at most so long where nobody is known to decide: longer than a takeover takes.
  // Whoever asks again at once may do so at a server that has not noticed yet.
  static constexpr SteadyCaller::Habit kHabit = {.retry_after_ms = 1000, .limit = absl::Seconds(4)};

  void SetUp() override {
    if (!Networks::AreThere()) GTEST_SKIP() << Networks::WhyNot();
    servers_.emplace(DeploymentOptions{.lease = "2s", .networks = &networks_});
    owner_ = servers_->AwaitOwnerNumber("orders");
    for (int server = 0; server < servers_->size(); ++server) {
      ASSERT_TRUE(servers_->AwaitOwners(server));
    }
  }

  int other(int place = 1) const { return (owner_ + place) % servers_->size(); }
  // What all were admitted, by what one server would have admitted.
  static void ExpectPromise(std::initializer_list<SteadyCaller*> callers) {
    double admitted = 0;
    absl::Duration span;
    for (SteadyCaller* caller : callers) {
      caller->Stop();
      EXPECT_EQ(caller->failed(), 0) << caller->last_error();
      admitted += caller->admitted();
      span = std::max(span, caller->span());
    }
    EXPECT_LE(admitted, 500 + 100 * absl::ToDoubleSeconds(span));
  }
  void AwaitAnotherOwner() {
    EXPECT_TRUE(WaitUntil([&] {
      const int now = servers_->OwnerNumber("orders");
      return now >= 0 && now != owner_;
    }));
  }
  // Whoever is asked about any target finds its owner: links are up again, and not only when gRPC
  // would try by itself, which may be two minutes later.
  void AwaitPeace() {
    for (int server = 0; server < servers_->size(); ++server) {
      EXPECT_TRUE(servers_->AwaitOwners(server, absl::Minutes(1))) << server;
    }
  }

  Networks networks_;
  std::optional<Deployment> servers_;
  int owner_ = 0;
};

// Others take over. It hears of no new owner, so whoever asks it has to ask again elsewhere.
TEST_F(Partition, AServerWithoutTheStoreLosesItsTargets) {
  SteadyCaller at_owner(*servers_, owner_, "orders", 10, kHabit);
  SteadyCaller at_other(*servers_, other(), "orders", 10, kHabit);
  networks_.CutFromStore(owner_);
  AwaitAnotherOwner();
  const int64_t asked = at_other.asked();
  EXPECT_TRUE(WaitUntil([&] { return at_other.asked() > asked + 100; }));
  networks_.Heal();
  AwaitPeace();
  ExpectPromise({&at_owner, &at_other});
}

// It decides for what it owns, and whoever cannot reach it by way of others asks it itself.
TEST_F(Partition, AServerWithoutTheOthersDecidesForWhatItOwns) {
  SteadyCaller at_owner(*servers_, owner_, "orders", 10, kHabit);
  SteadyCaller at_other(*servers_, other(2), "orders", 10, kHabit);
  networks_.CutFromServers(owner_, servers_->size());
  const int64_t asked = at_owner.asked();
  EXPECT_TRUE(WaitUntil([&] { return at_owner.asked() > asked + 200; }));
  EXPECT_EQ(servers_->OwnerNumber("orders"), owner_);
  networks_.Heal();
  AwaitPeace();
  ExpectPromise({&at_owner, &at_other});
}

// As if it had died, but for its callers, whom it keeps waiting.
TEST_F(Partition, AServerWithoutStoreAndOthersIsReplaced) {
  SteadyCaller at_owner(*servers_, owner_, "orders", 10, kHabit);
  SteadyCaller at_other(*servers_, other(), "orders", 10, kHabit);
  networks_.CutFromStore(owner_);
  networks_.CutFromServers(owner_, servers_->size());
  AwaitAnotherOwner();
  const int64_t asked = at_other.asked();
  EXPECT_TRUE(WaitUntil([&] { return at_other.asked() > asked + 100; }));
  networks_.Heal();
  AwaitPeace();
  ExpectPromise({&at_owner, &at_other});
}

}  // namespace
}  // namespace headgate
