// The throttle log has each piece of each lease, by what became of it, once its holders have
// closed: against what the threads that asked for the pieces counted themselves.

#include <headgate/lease.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/real_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::RowKey;

// What one holder's threads were told of their pieces.
struct Told {
  std::atomic<int64_t> admitted = 0;
  std::array<std::atomic<int64_t>, 32> refused = {};  // by reason
  int64_t Refused(Reason reason) const { return refused.at(static_cast<size_t>(reason)).load(); }
  int64_t AllRefused() const {
    int64_t sum = 0;
    for (const auto& each : refused) sum += each.load();
    return sum;
  }
};

// What the log has of one identity.
struct Logged {
  int64_t allowed = 0, would_be_denied = 0, denied = 0;
  std::map<engine::Reason, int64_t> denied_by;
  std::map<engine::Limit, int64_t> denied_at;
  std::map<engine::Reason, int64_t> allowed_by;
  double cost = 0;  // of those that were not denied
};

engine::PolicySpec Policy(bool is_paused) {
  engine::PolicySpec policy = engine::OneBudget(engine::RateBudget("rows", 500, 500));
  engine::BudgetSpec soft = engine::RateBudget("soft", 10, 10);
  soft.mode = engine::Mode::kWarn;
  policy.budgets.push_back(soft);
  policy.budgets.push_back(engine::MaxCostBudget("small", 3));
  policy.rules.push_back(engine::ChargeRule("warns", "warned:etl", {"soft"}));
  policy.rules.push_back(engine::ChargeRule("smalls", "large:etl", {"small"}));
  policy.rules.push_back(engine::RuleOn("dice", "diced:etl", engine::RejectAction{.ratio = 0.4}));
  policy.rules.push_back(engine::RuleOn("free", "exempt:etl", engine::ExemptAction{}));
  if (is_paused) {
    policy.rules.push_back(engine::RuleOn("pause", "paused:etl", engine::DenyAction{}));
  }
  return policy;
}

class LeaseLogTest : public ::testing::Test {
 protected:
  static constexpr std::array<const char*, 6> kWho = {"plain", "warned", "large",
                                                      "diced", "exempt", "paused"};
  static constexpr size_t kThreads = 2;  // of each holder

  void Begin() {
    for (const char* const who : kWho) {
      auto lease = client_->NewLease({.identity = absl::StrCat(who, ":etl"), .piece = 1});
      ASSERT_TRUE(lease.ok()) << lease.status();
      leases_.push_back(*std::move(lease));
    }
    for (size_t i = 0; i < kWho.size() * kThreads; ++i) {
      threads_.emplace_back([this, who = i / kThreads] { Ask(who); });
    }
  }
  void Ask(size_t who) {
    for (int i = 0; !done_.load(); ++i) {
      // Of the one whose pieces may be too large, every fifth is.
      const double cost = i % 5 == 0 ? 5 : 1;
      const Admission admission = leases_[who]->Admit(cost);
      if (admission.admitted) {
        ++told_[who].admitted;
      } else {
        EXPECT_TRUE(admission.error.ok()) << admission.error;
        ++told_[who].refused.at(static_cast<size_t>(admission.reason));
      }
      ++asked_[who];
      std::this_thread::yield();
    }
  }
  // So many of everybody's are admitted or refused meanwhile.
  void LetTimePass(int times) {
    for (int round = 0; round < times; ++round) {
      server_.Advance(absl::Milliseconds(100));
      std::array<int64_t, kWho.size()> before = {};
      for (size_t i = 0; i < kWho.size(); ++i) before[i] = asked_[i].load();
      ASSERT_TRUE(WaitUntil([&] {
        for (size_t i = 0; i < kWho.size(); ++i) {
          if (asked_[i].load() < before[i] + 20) return false;
        }
        return true;
      }));
    }
  }
  void End() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
    for (const auto& lease : leases_) lease->Close();
    ASSERT_TRUE(Flushed(*client_));
  }
  std::map<std::string, Logged> Read() {
    std::map<std::string, Logged> all;
    server_.recorder.Collect({}, [&](const RowKey& key, const Counts& counts) {
      Logged& logged = all[key.identity];
      if (key.outcome == Outcome::kDenied) {
        logged.denied += counts.checks;
        logged.denied_by[key.cause.reason] += counts.checks;
        logged.denied_at[key.cause.limit] += counts.checks;
        return;
      }
      (key.outcome == Outcome::kAllowed ? logged.allowed : logged.would_be_denied) += counts.checks;
      logged.allowed_by[key.cause.reason] += counts.checks;
      logged.cost += counts.cost;
    });
    return all;
  }

  RealServer server_{Policy(false)};
  std::unique_ptr<Client> client_ = [this] {
    ClientOptions options = Options();
    options.flush_timeout = absl::Seconds(60);
    return server_.NewClient(std::move(options));
  }();
  std::vector<std::unique_ptr<Lease>> leases_;
  std::vector<std::thread> threads_;
  std::atomic<bool> done_ = false;
  std::array<Told, kWho.size()> told_;
  std::array<std::atomic<int64_t>, kWho.size()> asked_ = {};
};

TEST_F(LeaseLogTest, EqualsTheHoldersOwnCountsToThePiece) {
  Begin();
  LetTimePass(10);
  ASSERT_TRUE(server_.engine.Install(Policy(true), server_.clock.Read()).ok());
  LetTimePass(20);
  End();
  std::map<std::string, Logged> logged = Read();
  for (size_t i = 0; i < kWho.size(); ++i) {
    const Logged& one = logged[absl::StrCat(kWho[i], ":etl")];
    const LeaseStats stats = leases_[i]->stats();
    EXPECT_EQ(stats.admitted, told_[i].admitted.load()) << kWho[i];
    EXPECT_EQ(stats.refused, told_[i].AllRefused()) << kWho[i];
    EXPECT_EQ(one.allowed + one.would_be_denied, stats.admitted) << kWho[i];
    EXPECT_EQ(one.denied, stats.refused) << kWho[i];
    EXPECT_NEAR(one.cost, stats.spent, 1e-6 * stats.spent) << kWho[i];
    EXPECT_EQ(one.denied_by.contains(engine::Reason::kRejectRatio)
                  ? one.denied_by.at(engine::Reason::kRejectRatio)
                  : 0,
              told_[i].Refused(Reason::kRejectRatio))
        << kWho[i];
  }
  EXPECT_EQ(logged.size(), kWho.size());
  const auto of = [&](const char* who) { return logged[absl::StrCat(who, ":etl")]; };
  EXPECT_GT(of("plain").denied_by[engine::Reason::kCapacity], 0);
  EXPECT_GT(of("warned").would_be_denied, 0);
  // What was refused while its lease was asked for counts as what the answer says.
  EXPECT_GT(of("large").denied_by[engine::Reason::kMaxCost], 0);
  EXPECT_GE(of("large").denied_by[engine::Reason::kMaxCost], told_[2].Refused(Reason::kMaxCost));
  EXPECT_EQ(of("large").denied_at[engine::Limit::kMaxCost],
            of("large").denied_by[engine::Reason::kMaxCost]);
  EXPECT_GT(of("diced").denied_by[engine::Reason::kRejectRatio], 0);
  EXPECT_EQ(of("exempt").allowed_by[engine::Reason::kExempt], of("exempt").allowed);
  EXPECT_GT(of("paused").denied_by[engine::Reason::kDenyRule], 0);
  EXPECT_EQ(server_.permits(), 0);
}

}  // namespace
}  // namespace headgate::client
