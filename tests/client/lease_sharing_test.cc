// How holders of leases share one budget: the real holder, engine and line, with time by hand and
// half a millisecond for each way.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lease_holder.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/binding_limit.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::client::internal {
namespace {

using engine::At;
using engine::operator+;

constexpr absl::Duration kWay = absl::Microseconds(500);

// What is sent arrives in its order, a way later.
class World {
 public:
  explicit World(engine::PolicySpec policy) {
    engine_.AttachLine(&lines_);
    EXPECT_TRUE(engine_.Install(std::move(policy), now_).ok());
  }

  void Send(std::function<void()> arrive) {
    due_.emplace(now_.monotonic_ns + absl::ToInt64Nanoseconds(kWay), std::move(arrive));
  }
  // Until everything is done that is due by then.
  void RunTo(Now to) {
    for (;;) {
      const int64_t line_ns = lines_.Advance(now_);
      const int64_t sent_ns = due_.empty() ? to.monotonic_ns : due_.begin()->first;
      const int64_t next_ns = std::min({line_ns, sent_ns, to.monotonic_ns});
      now_ = now_ + absl::Nanoseconds(std::max<int64_t>(next_ns - now_.monotonic_ns, 0));
      if (!due_.empty() && due_.begin()->first <= now_.monotonic_ns) {
        const auto arrive = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        arrive();
        continue;
      }
      if (now_.monotonic_ns >= to.monotonic_ns) return;
    }
  }

  Now now_ = At();
  engine::Engine engine_{engine::TestEngine::Options()};
  line::WaitingLines lines_{{}, [this](const auto& request, Now now, auto& answer) {
                              return engine_.Check(request, now, answer);
                            }};

 private:
  std::multimap<int64_t, std::function<void()>> due_;
};

// One that spends pieces of `cost` as fast as it may.
class Holder {
 public:
  enum class Asks : uint8_t { kWaits, kPolls };
  Holder(World& world, std::string identity, double cost, Asks asks = Asks::kWaits)
      : world_(world), identity_(std::move(identity)), cost_(cost), asks_(asks) {}

  void Work() {
    while (holder_.Admit(cost_, Ns()).admitted) spent_ += cost_;
    for (const PermitReport& report : holder_.TakeReturns()) Return(report);
    if (std::optional<CheckRequest> ask = holder_.NextAsk(Ns())) {
      world_.Send([this, asked = *std::move(ask)] { Arrive(asked); });
    }
  }
  double spent() const { return spent_; }

 private:
  class Answered final : public line::Waiter {
   public:
    explicit Answered(Holder& holder) : holder_(holder) {}
    void Answer(int, const line::Decided& decided) override {
      holder_.Answer(decided.answer, true);
    }

   private:
    Holder& holder_;
  };

  int64_t Ns() const { return world_.now_.monotonic_ns; }
  void Return(const PermitReport& report) {
    world_.Send([this, report] { Settle(report); });
  }
  void Settle(const PermitReport& report) {
    if (report.permit_id == 0) return;
    const engine::ActualCost actual{
        .spent = engine::ActualCost::Spent{.estimate = report.lease_use->spent,
                                           .pieces = report.lease_use->pieces}};
    EXPECT_TRUE(world_.engine_.Report(report.permit_id, actual, world_.now_).ok());
  }
  void Arrive(const CheckRequest& ask) {
    arrived_ns_ = Ns();
    if (ask.lease->returned.has_value()) Settle(*ask.lease->returned);
    const engine::LeaseTerms terms{.least = ask.lease->least, .life = ask.lease->time};
    const engine::CheckRequest request{.identity = identity_,
                                       .estimated_cost = ask.estimated_cost,
                                       .waits = asks_ == Asks::kWaits,
                                       .lease = &terms};
    engine::CheckAnswer answer;
    ASSERT_TRUE(world_.engine_.Check(request, world_.now_, answer).ok());
    if (asks_ == Asks::kPolls || line::BindingViolation(answer) == nullptr) {
      return Answer(answer, false);
    }
    uint64_t ticket = 0;
    const int64_t until_ns = Ns() + absl::ToInt64Nanoseconds(ask.lease->time);
    EXPECT_EQ(world_.lines_.Enter(
                  {request, answer, world_.now_},
                  {.waiter = std::make_shared<Answered>(*this), .until_ns = until_ns}, &ticket),
              line::Entered::kWaits);
  }
  void Answer(const engine::CheckAnswer& decided, bool waited) {
    client::Answer answer{.predicted_cost = decided.predicted_cost};
    if (decided.verdict == engine::Verdict::kAllowed) {
      answer.verdict = Verdict::kAllowed;
      answer.permit_id = decided.permit;
      answer.lease = GrantedLease{.amount = decided.grant.amount, .time = decided.grant.time};
    } else {
      answer.reason = Reason::kCapacity;
      if (decided.retry_after < absl::InfiniteDuration()) answer.retry_after = decided.retry_after;
    }
    if (waited) answer.waited = absl::Nanoseconds(Ns() - arrived_ns_);
    world_.Send([this, answer] { holder_.OnAnswer(answer, Ns()); });
  }

  World& world_;
  const std::string identity_;
  const double cost_;
  const Asks asks_;
  Jitter jitter_{7};
  LeaseHolder holder_{{.identity = identity_, .piece = cost_}, jitter_};
  double spent_ = 0;
  int64_t arrived_ns_ = 0;
};

// One that asks for each chunk of 10, waits for its turn, and asks again.
class Checker {
 public:
  Checker(World& world, std::string identity) : world_(world), identity_(std::move(identity)) {}

  void Ask() {
    world_.Send([this] {
      const engine::CheckRequest request{
          .identity = identity_, .estimated_cost = kCost, .waits = true};
      engine::CheckAnswer answer;
      ASSERT_TRUE(world_.engine_.Check(request, world_.now_, answer).ok());
      if (answer.verdict == engine::Verdict::kAllowed) return Admitted();
      uint64_t ticket = 0;
      const int64_t until_ns = world_.now_.monotonic_ns + absl::ToInt64Nanoseconds(absl::Hours(1));
      EXPECT_EQ(world_.lines_.Enter({request, answer, world_.now_},
                                    {.waiter = std::make_shared<Turn>(*this), .until_ns = until_ns},
                                    &ticket),
                line::Entered::kWaits);
    });
  }
  double spent() const { return spent_; }

 private:
  static constexpr double kCost = 10;
  class Turn final : public line::Waiter {
   public:
    explicit Turn(Checker& checker) : checker_(checker) {}
    void Answer(int, const line::Decided& decided) override {
      if (decided.answer.verdict == engine::Verdict::kAllowed) checker_.Admitted();
    }

   private:
    Checker& checker_;
  };
  void Admitted() {
    spent_ += kCost;
    world_.Send([this] { Ask(); });
  }

  World& world_;
  const std::string identity_;
  double spent_ = 0;
};

struct Shared {
  double jain = 0, used = 0;
};

// Twenty greedy holders for so long, at 20,000 a second.
Shared Share(double burst, absl::Duration time, const std::vector<double>& costs) {
  World world(engine::OneBudget(engine::RateBudget("b", 20'000, burst)));
  std::vector<std::unique_ptr<Holder>> holders;
  for (size_t i = 0; i < costs.size(); ++i) {
    holders.push_back(std::make_unique<Holder>(world, absl::StrCat("h", i, ":etl"), costs[i]));
  }
  const Now end = At() + time;
  while (world.now_.monotonic_ns < end.monotonic_ns) {
    for (const auto& holder : holders) holder->Work();
    world.RunTo(world.now_ + absl::Microseconds(100));
  }
  Shared shared;
  double sum = 0, squares = 0;
  for (const auto& holder : holders) {
    sum += holder->spent();
    squares += holder->spent() * holder->spent();
  }
  const double due = burst + 20'000 * absl::ToDoubleSeconds(time);
  EXPECT_LE(sum, due + 1e-3);
  shared.jain = sum * sum / (static_cast<double>(costs.size()) * squares);
  shared.used = sum / due;
  return shared;
}

TEST(LeaseSharing, OfTwentyGreedyHoldersIsFairAndLeavesLittleUnused) {
  std::vector<double> costs;
  for (int i = 0; i < 20; ++i) costs.push_back(1 + i % 5);
  for (const double burst : {2'000.0, 20'000.0}) {
    const Shared shared = Share(burst, absl::Seconds(10), costs);
    EXPECT_GE(shared.jain, 0.98) << burst;
    EXPECT_GE(shared.used, 0.97) << burst;
  }
  // Of ten milliseconds, of which the ways there and back take one.
  EXPECT_GE(Share(200, absl::Seconds(10), costs).used, 0.96);
}

TEST(LeaseSharing, BesideChecksThatWaitItHasItsShareAndNoMore) {
  World world(engine::OneBudget(engine::RateBudget("b", 2'000, 2'000)));
  Holder holder(world, "holder:etl", 1);
  std::vector<std::unique_ptr<Checker>> checkers;
  for (int i = 0; i < 3; ++i) {
    checkers.push_back(std::make_unique<Checker>(world, absl::StrCat("c", i, ":etl")));
    checkers.back()->Ask();
  }
  const Now end = At() + absl::Seconds(30);
  while (world.now_.monotonic_ns < end.monotonic_ns) {
    holder.Work();
    world.RunTo(world.now_ + absl::Microseconds(100));
  }
  double all = holder.spent();
  for (const auto& checker : checkers) all += checker->spent();
  EXPECT_LE(all, 2'000 + 30 * 2'000.0);
  EXPECT_NEAR(holder.spent() / all, 0.25, 0.03);
  for (const auto& checker : checkers) EXPECT_NEAR(checker->spent() / all, 0.25, 0.03);
}

// It has no place in line that others of its own would have to wait for.
TEST(LeaseSharing, OneThatPollsIsInNobodysWay) {
  World world(engine::OneBudget(engine::RateBudget("b", 20'000, 2'000)));
  std::vector<std::unique_ptr<Holder>> holders;
  for (int i = 0; i < 10; ++i) {
    const Holder::Asks asks = i % 2 == 0 ? Holder::Asks::kWaits : Holder::Asks::kPolls;
    holders.push_back(std::make_unique<Holder>(world, absl::StrCat("h", i / 2, ":etl"), 1, asks));
  }
  const Now end = At() + absl::Seconds(10);
  while (world.now_.monotonic_ns < end.monotonic_ns) {
    for (const auto& holder : holders) holder->Work();
    world.RunTo(world.now_ + absl::Microseconds(100));
  }
  double sum = 0;
  for (const auto& holder : holders) sum += holder->spent();
  EXPECT_GE(sum / (2'000 + 10 * 20'000.0), 0.97);
}

}  // namespace
}  // namespace headgate::client::internal
