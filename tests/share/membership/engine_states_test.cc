// An engine's targets, as bytes that one server leaves for the next one.

#include "server/share/membership/engine_states.h"

#include <optional>
#include <string>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::membership {
namespace {

using cluster::Takeover;

class Server {
 public:
  std::string Copy() { return states_.Copy({"orders"}).front().value(); }
  void Adopt(const std::string& bytes) {
    const cluster::StoredState state{
        .generation = 1, .whole = bytes, .age = absl::ZeroDuration(), .is_final = true};
    const absl::Status adopted = states_.Adopt("orders", Takeover::kHandedOver, state);
    EXPECT_TRUE(adopted.ok()) << adopted;
  }
  void Learn(const std::string& learnt) {
    EXPECT_TRUE(engine_->SetLearntControl("orders", learnt, 0).ok());
  }
  std::string Learnt() { return engine_->ReadLearntControl("orders").bytes; }
  bool Admits(double cost) { return engine_.Admits("job:etl", cost, clock_.Read()); }

  FakeClock clock_;
  int unreadable_ = 0;

 private:
  static engine::PolicySpec Policy() {
    engine::PolicySpec policy = engine::OneBudget(engine::RateBudget("b", 10, 100));
    policy.targets.resize(1);
    policy.targets[0].name = "orders";
    return policy;
  }

  engine::TestEngine engine_{Policy()};
  EngineStates states_{*engine_, clock_,
                       [this](std::string_view, const absl::Status&) { ++unreadable_; }};
};

TEST(EngineStates, OfATargetThatOwesNothingThereAreNoBytes) {
  Server server;
  EXPECT_EQ(server.Copy(), "");
  ASSERT_TRUE(server.Admits(1));
  EXPECT_NE(server.Copy(), "");
}

TEST(EngineStates, WhatAControllerLearntIsHandedOverThoughNothingIsOwed) {
  Server from, to;
  from.Learn("how much it bears");
  to.Adopt(from.Copy());
  EXPECT_EQ(to.Learnt(), "how much it bears");
}

TEST(EngineStates, WhereTimeAloneHasPassedTheBytesAreTheSame) {
  Server server;
  server.Learn("how much it bears");
  const std::string before = server.Copy();
  server.clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(server.Copy(), before);
}

TEST(EngineStates, WhatCannotBeReadFillsTheBucketsAndIsForgotten) {
  Server from, to;
  from.Learn("how much it bears");
  std::string bytes = from.Copy();
  bytes.back() ^= 1;
  to.Learn("from before");
  to.Adopt(bytes);
  EXPECT_EQ(to.unreadable_, 1);
  EXPECT_EQ(to.Learnt(), "");
  EXPECT_FALSE(to.Admits(1));
}

}  // namespace
}  // namespace headgate::membership
