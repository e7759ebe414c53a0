// What a target's health comes to: the one word that all tools show.
#include "server/observe/health/condition.h"

#include "gtest/gtest.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

ProfileSnapshot Judged(const std::string& name, const engine::Health& health,
                       const std::string& signal = "") {
  return {.profile = name, .health = health, .signal = signal};
}

const engine::Health kWell = {.speed = 1, .status = HealthStatus::kHealthy};
const engine::Health kShut = {
    .speed = 0, .status = HealthStatus::kHealthy, .gate_shut = true, .pressure = 2};

TEST(Condition, AGateThatIsShutAndASpeedOfZeroAreNeverHealthy) {
  struct Case {
    engine::Health health;
    ConditionKind kind;
    const char* message;
  };
  const Case cases[] = {
      {kWell, ConditionKind::kHealthy, "profile 'p': no signal is above its soft threshold"},
      {kShut, ConditionKind::kShut, "profile 'p': the gate is shut by lag"},
      {{.speed = 1, .status = HealthStatus::kHealthy, .gate_shut = true},
       ConditionKind::kShut,
       "profile 'p': the gate is shut by lag"},
      {{.speed = 0, .status = HealthStatus::kHealthy, .pressure = 0.9F},
       ConditionKind::kShut,
       "profile 'p': the speed is 0 by lag: no budget drains"},
      {{.speed = 0, .status = HealthStatus::kStale, .gate_shut = true},
       ConditionKind::kShut,
       "profile 'p': the gate is shut: lag cannot be read, or its reading is too old"},
      {{.speed = 0, .status = HealthStatus::kWarming, .gate_shut = true},
       ConditionKind::kShut,
       "profile 'p': the gate is shut: there has been no sample yet"},
      {{.speed = 0.1, .status = HealthStatus::kStale},
       ConditionKind::kStale,
       "profile 'p': lag cannot be read, or its reading is too old; budgets drain at 10 %"},
      {{.speed = 0.25, .status = HealthStatus::kHealthy, .pressure = 0.75F},
       ConditionKind::kSlowed,
       "profile 'p': budgets drain at 25 %, slowed by lag"},
      {{.speed = 0.5, .status = HealthStatus::kHealthy},
       ConditionKind::kRecovering,
       "profile 'p': budgets drain at 50 %: the pressure is gone, and speed recovers"},
      {{.speed = 1, .status = HealthStatus::kWarming},
       ConditionKind::kWarming,
       "profile 'p': there has been no sample yet"},
      {{},
       ConditionKind::kUnmeasured,
       "profile 'p': nothing is measured: budgets run in real time"},
  };
  for (const Case& each : cases) {
    const Condition condition = ConditionOf(Judged("p", each.health, "lag"));
    EXPECT_EQ(condition.kind, each.kind) << each.message;
    EXPECT_EQ(condition.message, each.message);
  }
}

TEST(Condition, OfATargetIsThatOfTheWorstProfileInUse) {
  TargetSnapshot target;
  target.profiles = {Judged("standard", kWell), Judged("strict", kShut, "active_backends"),
                     Judged("unused", kShut, "lag")};
  const Condition worst = ConditionOf(target, {"standard", "strict"}, kNow);
  EXPECT_EQ(worst.kind, ConditionKind::kShut);
  EXPECT_EQ(worst.profile, "strict");
  EXPECT_EQ(worst.message, "profile 'strict': the gate is shut by active_backends");
  EXPECT_EQ(ConditionOf(target, {"standard"}, kNow).kind, ConditionKind::kHealthy);
  EXPECT_EQ(ConditionOf(target, {}, kNow).kind, ConditionKind::kUnmeasured);
}

TEST(Condition, AStandbyThatIsMissingIsNotHealthyUnlessItIsSetAside) {
  TargetSnapshot target;
  target.profiles = {Judged("standard", kWell)};
  target.servers.resize(2);
  target.servers[0].reachable = true;
  target.servers[0].sampled_at_ns = 1;
  target.servers[1].name = "s1";
  target.servers[1].error = "is not connected";
  const Condition condition = ConditionOf(target, {"standard"}, kNow);
  EXPECT_EQ(condition.kind, ConditionKind::kStandbyMissing);
  EXPECT_EQ(condition.message, "standby 's1' is missing: is not connected");
  target.servers[1].set_aside_until = kNow + absl::Hours(1);
  EXPECT_EQ(ConditionOf(target, {"standard"}, kNow).kind, ConditionKind::kHealthy);
  // What is worse is told instead.
  target.servers[1].set_aside_until = absl::InfinitePast();
  target.profiles[0].health = kShut;
  EXPECT_EQ(ConditionOf(target, {"standard"}, kNow).kind, ConditionKind::kShut);
}

}  // namespace
}  // namespace headgate::health
