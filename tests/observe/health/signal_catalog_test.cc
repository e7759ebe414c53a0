#include "server/observe/health/signal_catalog.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/observe/health/specs.h"

namespace headgate::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SignalSpec On(Scope scope, std::string name) { return Signal(std::move(name), scope, 0, 1); }

ProfileSpec ProfileOf(std::vector<SignalSpec> signals) {
  return health::Profile("p", std::move(signals)).spec;
}

std::vector<StandbySpec> TwoStandbys() {
  return {Standby("s1", "a1"), ConnectedStandby("s2", "a2")};
}

TEST(SignalCatalog, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const SignalInfo& signal : AllSignals()) {
    EXPECT_TRUE(names.insert(std::string(signal.name)).second) << signal.name;
    EXPECT_EQ(FindSignal(signal.name), &signal);
  }
  EXPECT_THAT(names, SizeIs(20));
}

TEST(SignalCatalog, EverySignalIsExplainedAndHasADistanceBetweenItsThresholds) {
  for (const SignalInfo& signal : AllSignals()) {
    EXPECT_GT(signal.hard, signal.soft) << signal.name;
    EXPECT_FALSE(signal.description.empty()) << signal.name;
  }
}

TEST(SignalCatalog, UnknownNameIsNotFound) { EXPECT_EQ(FindSignal("active_backend"), nullptr); }

TEST(SignalCatalog, AutovacuumBacklogAloneIsAskedSeldom) {
  for (const SignalInfo& signal : AllSignals()) {
    const bool seldom = signal.name == "autovacuum_backlog";
    EXPECT_EQ(signal.every, seldom ? absl::Seconds(30) : absl::ZeroDuration()) << signal.name;
  }
}

TEST(SignalCatalog, InstancesFollowSignalsAndThenStandbys) {
  const ProfileSpec profile = ProfileOf({On(Scope::kStandbyOnPrimary, "lag"),
                                         On(Scope::kPrimary, "load"), On(Scope::kStandby, "own")});
  EXPECT_THAT(InstancesOf(profile, TwoStandbys()),
              ElementsAre("lag on s1", "lag on s2", "load", "own on s2"));
}

TEST(SignalCatalog, InstancesOnAllTargetsAreNamedOnce) {
  const ProfileSpec profile =
      ProfileOf({On(Scope::kPrimary, "load"), On(Scope::kStandbyOnPrimary, "lag")});
  const std::vector<std::vector<StandbySpec>> targets = {
      TwoStandbys(), {}, {Standby("s3", "a3"), Standby("s1", "a1")}};
  EXPECT_THAT(InstancesOnAll(profile, targets),
              ElementsAre("load", "lag on s1", "lag on s2", "lag on s3"));
}

TEST(SignalCatalog, EachServerIsAskedForWhatItHas) {
  const QueryPlan plan =
      QueriesFor({ProfileOf({On(Scope::kStandbyOnPrimary, "lag"), On(Scope::kPrimary, "load"),
                             On(Scope::kStandby, "own")})},
                 TwoStandbys());
  ASSERT_THAT(plan.primary, SizeIs(2));
  EXPECT_EQ(plan.primary[0].query.signal, "lag");
  ASSERT_THAT(plan.primary[0].query.of, SizeIs(2));
  EXPECT_EQ(plan.primary[0].query.of[1].application_name, "a2");
  EXPECT_EQ(plan.primary[1].query.signal, "load");
  EXPECT_THAT(plan.primary[1].query.of, IsEmpty());
  ASSERT_THAT(plan.standbys, SizeIs(2));
  EXPECT_THAT(plan.standbys[0], IsEmpty());
  ASSERT_THAT(plan.standbys[1], SizeIs(1));
  EXPECT_EQ(plan.standbys[1][0].query.signal, "own");
}

TEST(SignalCatalog, CascadingStandbyIsNoneOfThePrimarys) {
  std::vector<StandbySpec> standbys = TwoStandbys();
  standbys[1].is_cascading = true;
  const ProfileSpec profile =
      ProfileOf({On(Scope::kStandbyOnPrimary, "lag"), On(Scope::kStandby, "own")});
  EXPECT_THAT(InstancesOf(profile, standbys), ElementsAre("lag on s1", "own on s2"));
  const QueryPlan plan = QueriesFor({profile}, standbys);
  ASSERT_THAT(plan.primary, SizeIs(1));
  ASSERT_THAT(plan.primary[0].query.of, SizeIs(1));
  EXPECT_EQ(plan.primary[0].query.of[0].name, "s1");
  standbys.erase(standbys.begin());
  EXPECT_THAT(QueriesFor({profile}, standbys).primary, IsEmpty());
}

TEST(SignalCatalog, WhatStandbysAreComparedWithIsAskedOfThePrimaryAsOften) {
  ProfileSpec profile = ProfileOf({On(Scope::kStandby, std::string(kStandbyLagSignal))});
  profile.signals[0].every = absl::Seconds(3);
  const QueryPlan plan = QueriesFor({profile}, TwoStandbys());
  ASSERT_THAT(plan.primary, SizeIs(1));
  EXPECT_EQ(plan.primary[0].query.signal, kStandbyLagSignal);
  EXPECT_EQ(plan.primary[0].every, absl::Seconds(3));
  EXPECT_THAT(InstancesOf(profile, TwoStandbys()), ElementsAre("standby_lag_seconds on s2"));
  EXPECT_THAT(QueriesFor({profile}, {Standby("s1", "a1")}).primary, IsEmpty());
}

TEST(SignalCatalog, SignalOfSeveralProfilesIsAskedOnceAndAsOftenAsTheMostEagerWants) {
  ProfileSpec calm = ProfileOf({On(Scope::kPrimary, "load")});
  calm.signals[0].every = absl::Seconds(30);
  ProfileSpec eager = calm;
  eager.signals[0].every = absl::Seconds(10);
  const QueryPlan plan = QueriesFor({calm, eager}, {});
  ASSERT_THAT(plan.primary, SizeIs(1));
  EXPECT_EQ(plan.primary[0].every, absl::Seconds(10));
}

TEST(SignalCatalog, NothingIsAskedAboutStandbysWhereThereAreNone) {
  EXPECT_THAT(QueriesFor({ProfileOf({On(Scope::kStandbyOnPrimary, "lag")})}, {}).primary,
              IsEmpty());
}

TEST(SignalCatalog, CustomSignalKeepsItsQuery) {
  ProfileSpec profile = ProfileOf({On(Scope::kPrimary, "queue")});
  profile.signals[0].sql = "SELECT count(*) FROM queue";
  EXPECT_EQ(QueriesFor({profile}, {}).primary[0].query.sql, "SELECT count(*) FROM queue");
}

}  // namespace
}  // namespace headgate::health
