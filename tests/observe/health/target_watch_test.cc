// TargetWatch, stepped by hand with the fake clock: what several servers' polls come to.

#include "server/observe/health/target_watch.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/observe/health/specs.h"

namespace headgate::health {
namespace {

const Reading kNotStreaming = {
    .instance = "lag on s1", .value = std::nullopt, .error = "not streaming", .is_absent = true};

using engine::HealthStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LastHealth : public HealthSink {
 public:
  void OnHealth(std::string_view target, std::string_view profile, const engine::Health& health,
                Now) override {
    EXPECT_EQ(target, "orders");
    by_profile[std::string(profile)] = health;
  }
  void OnServer(std::string_view target, std::string_view server, const absl::Status& newest,
                Now) override {
    EXPECT_EQ(target, "orders");
    by_server[std::string(server)] = newest;
  }
  void OnNotes(std::string_view target, const std::vector<std::string>& all, Now) override {
    EXPECT_EQ(target, "orders");
    notes = all;
  }
  void OnNote(std::string_view target, std::string_view server, const std::string& note) override {
    EXPECT_EQ(target, "orders");
    notes_of_servers[std::string(server)] = note;
  }
  std::map<std::string, std::string> notes_of_servers;
  std::map<std::string, engine::Health> by_profile;
  std::map<std::string, absl::Status> by_server;
  std::vector<std::string> notes;
};

const SignalSpec kLoad = Signal("load", Scope::kPrimary, 10, 20);
const SignalSpec kLag = Signal("lag", Scope::kStandbyOnPrimary, 1, 5);
const SignalSpec kOwn = Signal("own", Scope::kStandby, 1, 5);

// Standby "s1" is seen through the primary only, "s2" is connection 1. Profile "all" watches all,
// profile "primary" the load.
MonitorSpec Spec() {
  MonitorSpec spec;
  spec.target = "orders";
  spec.standbys = {Standby("s1", "a1"), ConnectedStandby("s2", "a2")};
  spec.profiles = {Profile("all", {kLoad, kLag, kOwn}), Profile("primary", {kLoad})};
  return spec;
}

class TargetWatchTest : public ::testing::Test {
 protected:
  TargetWatchTest() : watch_(Spec(), {.seed = 1}, clock_.Read()) {
    primary_ = {{"load", 0}, {"lag on s1", 0}, {"lag on s2", 0}};
  }

  void Poll(size_t connection, const absl::StatusOr<std::vector<Reading>>& result) {
    const int64_t started_ns = NowNs();
    const PollSchedule::Poll poll = watch_.schedule(connection).BeginPoll(started_ns);
    clock_.Advance(absl::Milliseconds(2));
    watch_.EndPoll(connection, poll, result, started_ns, clock_.Read());
    watch_.Evaluate(clock_.Read(), sink_);
  }
  void PollPrimary() {
    std::vector<Reading> readings;
    for (const auto& [name, value] : primary_) readings.push_back({name, value, ""});
    Poll(0, readings);
  }
  void PollStandby(double own) { Poll(1, std::vector<Reading>{{"own on s2", own, ""}}); }

  // What the servers' notes are in the snapshot, in its order.
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    for (const ServerSnapshot& server : watch_.Snapshot().servers) notes.push_back(server.note);
    return notes;
  }

  void Reconfigure(MonitorSpec spec) {
    ASSERT_TRUE(watch_.Reconfigure(std::move(spec), clock_.Read()).ok());
    watch_.Evaluate(clock_.Read(), sink_);
  }

  const engine::Health& All() { return sink_.by_profile["all"]; }
  const engine::Health& Primary() { return sink_.by_profile["primary"]; }
  int64_t NowNs() { return clock_.Read().monotonic_ns; }

  FakeClock clock_;
  LastHealth sink_;
  TargetWatch watch_;
  std::map<std::string, double> primary_;
};

TEST_F(TargetWatchTest, ProfilesAreWarmingBeforeTheFirstPoll) {
  watch_.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(All().status, HealthStatus::kWarming);
  EXPECT_EQ(Primary().status, HealthStatus::kWarming);
}

TEST_F(TargetWatchTest, TellsHowTheNewestPollOfEachServerEnded) {
  watch_.Evaluate(clock_.Read(), sink_);
  EXPECT_TRUE(sink_.by_server.empty());  // nobody was asked yet
  PollPrimary();
  Poll(1, absl::UnavailableError("connection refused"));
  EXPECT_TRUE(sink_.by_server.at("primary").ok());
  EXPECT_EQ(sink_.by_server.at("s2"), absl::UnavailableError("connection refused"));
  EXPECT_EQ(sink_.by_server.count("s1"), 0U);
  PollStandby(0);
  EXPECT_TRUE(sink_.by_server.at("s2").ok());
}

TEST_F(TargetWatchTest, EachProfileNeedsOnlyItsOwnServers) {
  PollPrimary();
  EXPECT_EQ(All().status, HealthStatus::kWarming);
  EXPECT_EQ(Primary().status, HealthStatus::kHealthy);
  PollStandby(0);
  EXPECT_EQ(All().status, HealthStatus::kHealthy);
  EXPECT_EQ(All().speed, 1);
}

TEST_F(TargetWatchTest, WorstOfAllServersBinds) {
  primary_["lag on s1"] = 2;
  PollPrimary();
  PollStandby(4);
  EXPECT_EQ(All().pressure, 0.75F);
  EXPECT_EQ(All().signal, 3);
  EXPECT_EQ(watch_.Snapshot().profiles[0].signal, "own on s2");
}

TEST_F(TargetWatchTest, SampleIsAsOldAsTheStartOfItsPoll) {
  const int64_t started_ns = NowNs();
  PollPrimary();
  EXPECT_EQ(Primary().sampled_at_ns, started_ns);
}

TEST_F(TargetWatchTest, GateMayOpenWhenTheNextPollShouldBeComplete) {
  const int64_t started_ns = NowNs();
  primary_["load"] = 30;
  PollPrimary();
  EXPECT_TRUE(Primary().gate_shut);
  EXPECT_EQ(Primary().next_sample_at_ns, started_ns + 502'000'000);
}

TEST_F(TargetWatchTest, FailedPollKeepsTheLastSampleUntilItIsStale) {
  PollPrimary();
  PollStandby(0);
  Poll(0, absl::UnavailableError("connection refused"));
  EXPECT_EQ(Primary().status, HealthStatus::kHealthy);
  clock_.Advance(absl::Seconds(5));
  PollStandby(0);
  EXPECT_EQ(Primary().status, HealthStatus::kStale);
  EXPECT_TRUE(Primary().gate_shut);
}

TEST_F(TargetWatchTest, FailingServerIsReportedWithItsError) {
  PollPrimary();
  Poll(0, absl::FailedPreconditionError("the server is a standby"));
  const TargetSnapshot snapshot = watch_.Snapshot();
  EXPECT_EQ(snapshot.servers[0].name, "primary");
  EXPECT_FALSE(snapshot.servers[0].reachable);
  EXPECT_THAT(snapshot.servers[0].error, HasSubstr("the server is a standby"));
  EXPECT_GT(snapshot.servers[0].sampled_at_ns, 0);
}

TEST_F(TargetWatchTest, WhatIsToBeMendedIsToldOnceHoweverManyReadingsSayIt) {
  std::vector<Reading> readings = {{"load", 0, ""}, {"lag on s1", 0, ""}, {"lag on s2", 0, ""}};
  for (Reading& reading : readings) reading.note = "two share a name";
  Poll(0, readings);
  EXPECT_THAT(watch_.Snapshot().notes, ElementsAre("two share a name"));
  EXPECT_THAT(sink_.notes, ElementsAre("two share a name"));
  PollPrimary();
  EXPECT_THAT(watch_.Snapshot().notes, ElementsAre());
  EXPECT_THAT(sink_.notes, ElementsAre());
}

TEST_F(TargetWatchTest, WhatAServerLeavesOutOnceIsPending) {
  PollPrimary();
  Poll(1, std::vector<Reading>{});
  EXPECT_EQ(All().status, HealthStatus::kHealthy);
  PollStandby(4);
  Poll(1, std::vector<Reading>{});
  EXPECT_EQ(All().status, HealthStatus::kHealthy);
}

TEST_F(TargetWatchTest, WhatAServerLeavesOutTwiceIsNotKnown) {
  PollPrimary();
  Poll(1, std::vector<Reading>{});
  Poll(1, std::vector<Reading>{});
  EXPECT_EQ(All().status, HealthStatus::kStale);
  EXPECT_EQ(watch_.Snapshot().signals[3].error, "no answer");
}

TEST_F(TargetWatchTest, WhatNobodyAskedForIsDropped) {
  primary_["surprise"] = 1e9;
  PollPrimary();
  EXPECT_EQ(Primary().speed, 1);
  for (const SignalSnapshot& signal : watch_.Snapshot().signals) {
    EXPECT_NE(signal.instance, "surprise");
  }
}

TEST_F(TargetWatchTest, StandbyWithoutAConnectionIsReachableIfThePrimarySeesIt) {
  PollPrimary();
  EXPECT_TRUE(watch_.Snapshot().servers[1].reachable);
  Poll(0, std::vector<Reading>{{"load", 0, ""}, kNotStreaming, {"lag on s2", 0, ""}});
  const ServerSnapshot server = watch_.Snapshot().servers[1];
  EXPECT_EQ(server.name, "s1");
  EXPECT_FALSE(server.reachable);
  EXPECT_EQ(server.error, "not streaming");
}

TEST_F(TargetWatchTest, SnapshotListsServersAndSignalsInOrder) {
  PollPrimary();
  const TargetSnapshot snapshot = watch_.Snapshot();
  EXPECT_EQ(snapshot.name, "orders");
  ASSERT_EQ(snapshot.servers.size(), 3U);
  EXPECT_EQ(snapshot.servers[2].name, "s2");
  EXPECT_THAT(snapshot.servers[2].error, HasSubstr("not polled yet"));
  EXPECT_EQ(snapshot.servers[0].poll_time, absl::Milliseconds(2));
  EXPECT_EQ(snapshot.servers[0].poll_interval, absl::Milliseconds(500));
  std::vector<std::string> names;
  for (const SignalSnapshot& signal : snapshot.signals) names.push_back(signal.instance);
  EXPECT_THAT(names, ElementsAre("load", "lag on s1", "lag on s2", "own on s2"));
  EXPECT_EQ(snapshot.signals[0].value, 0);
  EXPECT_EQ(snapshot.signals[3].error, "not asked yet");
}

TEST_F(TargetWatchTest, FirstCheckAfterIdlenessIsNotDeniedForTheAgeOfTheSample) {
  clock_.Advance(absl::Minutes(2));
  PollPrimary();
  PollStandby(0);
  clock_.Advance(absl::Seconds(9));
  watch_.NoteChecks(clock_.Read());
  watch_.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(All().status, HealthStatus::kHealthy);
  EXPECT_FALSE(All().gate_shut);
  for (size_t connection : {0, 1}) {
    EXPECT_EQ(watch_.schedule(connection).NextStep(NowNs()).step, PollSchedule::Step::kPoll);
  }
}

TEST_F(TargetWatchTest, ChangedThresholdsApplyToTheLastSampleAtOnce) {
  primary_["load"] = 12;
  PollPrimary();
  PollStandby(0);
  MonitorSpec spec = Spec();
  spec.profiles[1].spec.signals[0].hard = 14;
  Reconfigure(spec);
  EXPECT_EQ(Primary().status, HealthStatus::kHealthy);
  EXPECT_DOUBLE_EQ(Primary().speed, 0.5);
  EXPECT_DOUBLE_EQ(All().speed, 0.8);
}

TEST_F(TargetWatchTest, ReconfiguringDoesNotLiftTheSpeed) {
  primary_["load"] = 30;
  PollPrimary();
  primary_["load"] = 0;
  PollPrimary();
  Reconfigure(Spec());
  EXPECT_DOUBLE_EQ(Primary().speed, 0.05);
}

TEST_F(TargetWatchTest, NewProfileOnKnownSignalsIsHealthyAtOnce) {
  PollPrimary();
  MonitorSpec spec = Spec();
  spec.profiles.push_back(Profile("strict", {kLoad}));
  Reconfigure(spec);
  EXPECT_EQ(sink_.by_profile["strict"].status, HealthStatus::kHealthy);
  EXPECT_EQ(sink_.by_profile["strict"].speed, 1);
}

TEST_F(TargetWatchTest, ChangedQueryForgetsTheOldValue) {
  primary_["load"] = 30;
  PollPrimary();
  MonitorSpec spec = Spec();
  for (WatchedProfile& profile : spec.profiles) profile.spec.signals[0].sql = "SELECT 1";
  Reconfigure(spec);
  EXPECT_EQ(watch_.Snapshot().signals[0].value, std::nullopt);
  EXPECT_EQ(watch_.Snapshot().signals[1].value, 0);
}

TEST_F(TargetWatchTest, StandbyUnderAnotherNameIsAskedForAnew) {
  PollPrimary();
  MonitorSpec spec = Spec();
  spec.standbys[0].application_name = "other";
  Reconfigure(spec);
  EXPECT_EQ(watch_.Snapshot().signals[1].value, std::nullopt);
  EXPECT_EQ(watch_.Snapshot().signals[2].value, 0);
}

TEST_F(TargetWatchTest, StandbysWithoutAConnectionMayComeAndGo) {
  PollPrimary();
  PollStandby(0);
  MonitorSpec spec = Spec();
  spec.standbys[0] = Standby("s3", "a3");
  Reconfigure(spec);
  EXPECT_EQ(All().status, HealthStatus::kHealthy);
  EXPECT_EQ(All().speed, 1);
  EXPECT_EQ(watch_.Snapshot().servers[1].name, "s3");
}

TEST_F(TargetWatchTest, StandbyCanBeSetAsideWhileItIsAbsent) {
  PollStandby(0);
  Poll(0, std::vector<Reading>{{"load", 0, ""}, kNotStreaming, {"lag on s2", 0, ""}});
  EXPECT_TRUE(All().gate_shut);
  MonitorSpec spec = Spec();
  spec.standbys[0].set_aside_until = clock_.Read().wall() + absl::Hours(1);
  Reconfigure(spec);
  EXPECT_FALSE(All().gate_shut);
  EXPECT_EQ(watch_.Snapshot().servers[1].set_aside_until, spec.standbys[0].set_aside_until);
}

TEST_F(TargetWatchTest, ANewOwnerGoesOnWithWhatWasHandedOverUntilItIsStale) {
  primary_["load"] = 15;
  PollPrimary();
  PollStandby(0);
  clock_.Advance(absl::Seconds(1));
  const HandedSample handed = watch_.Hand(clock_.Read());
  TargetWatch next(Spec(), {.seed = 2}, clock_.Read());
  next.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(Primary().status, HealthStatus::kWarming);
  next.Adopt(handed, clock_.Read());
  next.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(Primary().status, HealthStatus::kHealthy);
  EXPECT_EQ(Primary().speed, 0.5);
  EXPECT_EQ(All().speed, 0.5);
  clock_.Advance(absl::Minutes(1));
  next.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(Primary().status, HealthStatus::kStale);
  EXPECT_TRUE(Primary().gate_shut);
}

// A standby that is missing is not forgotten with the owner that missed it.
TEST_F(TargetWatchTest, WhatShutsTheGateIsHandedOverToo) {
  PollStandby(0);
  Poll(0, std::vector<Reading>{
              {"load", 0, ""}, {"lag on s1", std::nullopt, "not streaming"}, {"lag on s2", 0, ""}});
  TargetWatch next(Spec(), {.seed = 2}, clock_.Read());
  next.Adopt(watch_.Hand(clock_.Read()), clock_.Read());
  next.Evaluate(clock_.Read(), sink_);
  EXPECT_TRUE(All().gate_shut);
  EXPECT_FALSE(Primary().gate_shut);
}

TEST_F(TargetWatchTest, WhatIsHandedOverCountsForNothingThatWasSampledHere) {
  primary_["load"] = 15;
  PollPrimary();
  const HandedSample handed = watch_.Hand(clock_.Read());
  primary_["load"] = 0;
  PollPrimary();
  watch_.Adopt(handed, clock_.Read());
  watch_.Evaluate(clock_.Read(), sink_);
  EXPECT_EQ(Primary().pressure, 0);
}

// Its first own poll has no value yet, as that of a rate.
TEST_F(TargetWatchTest, AHandedValueStandsInForTheFirstThatIsMissing) {
  primary_["load"] = 15;
  PollPrimary();
  const HandedSample handed = watch_.Hand(clock_.Read());
  TargetWatch next(Spec(), {.seed = 2}, clock_.Read());
  next.Adopt(handed, clock_.Read());
  const auto poll = [&](const std::vector<Reading>& readings) {
    const int64_t started_ns = NowNs();
    const PollSchedule::Poll begun = next.schedule(0).BeginPoll(started_ns);
    clock_.Advance(absl::Milliseconds(2));
    next.EndPoll(0, begun, readings, started_ns, clock_.Read());
    next.Evaluate(clock_.Read(), sink_);
  };
  poll({{"lag on s1", 0, ""}, {"lag on s2", 0, ""}});
  EXPECT_EQ(Primary().speed, 0.5);
  poll({{"load", 18, ""}, {"lag on s1", 0, ""}, {"lag on s2", 0, ""}});
  EXPECT_FLOAT_EQ(Primary().pressure, 0.8F);
}

TEST_F(TargetWatchTest, OtherConnectionsAreRefusedAndNothingChanges) {
  PollPrimary();
  MonitorSpec spec = Spec();
  spec.standbys[0].has_connection = true;
  spec.profiles.clear();
  EXPECT_EQ(watch_.Reconfigure(spec, clock_.Read()).code(), absl::StatusCode::kFailedPrecondition);
  spec = Spec();
  spec.target = "other";
  EXPECT_EQ(watch_.Reconfigure(spec, clock_.Read()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(watch_.Snapshot().profiles.size(), 2U);
}

// Also of one whose poll failed. A standby without a connection has none to be noted.
TEST_F(TargetWatchTest, WhatIsWorthKnowingOfAConnectionIsToldAndShown) {
  watch_.NoteServer(0, "it leads through a pooler");
  EXPECT_EQ(sink_.notes_of_servers.count("primary"), 0u);  // not polled yet
  PollPrimary();
  watch_.NoteServer(1, "so does this");
  Poll(1, absl::UnavailableError("down"));
  EXPECT_EQ(sink_.notes_of_servers["primary"], "it leads through a pooler");
  EXPECT_EQ(sink_.notes_of_servers["s2"], "so does this");
  EXPECT_THAT(Notes(), ElementsAre("it leads through a pooler", "", "so does this"));
  watch_.NoteServer(0, "");
  PollPrimary();
  EXPECT_EQ(sink_.notes_of_servers["primary"], "");
}

}  // namespace
}  // namespace headgate::health
