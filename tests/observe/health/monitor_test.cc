// TargetMonitor with its threads and the real clock, waiting for conditions only. What it decides
// is tested without threads in target_watch_test.cc and poll_schedule_test.cc.

#include "server/observe/health/monitor.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/observe/health/fake_probe.h"
#include "tests/observe/health/specs.h"

namespace headgate::health {
namespace {

using engine::Health;
using engine::HealthStatus;

class RecordingSink : public HealthSink {
 public:
  void OnHealth(std::string_view, std::string_view profile, const Health& health, Now) override {
    changing_.Do([&] {
      last_[std::string(profile)] = health;
      ++published_;
    });
  }

  // Until the profile's health is such.
  Health Await(const std::string& profile, const std::function<bool(const Health&)>& is_so) {
    Health health;
    EXPECT_TRUE(changing_.Await([&] {
      const auto known = last_.find(profile);
      if (known != last_.end()) health = known->second;
      return known != last_.end() && is_so(health);
    }));
    return health;
  }
  Health Await(HealthStatus status) {
    return Await("p", [status](const Health& health) { return health.status == status; });
  }
  Health AwaitNewerThan(int64_t sampled_at_ns) {
    return Await("p", [sampled_at_ns](const Health& health) {
      return health.sampled_at_ns > sampled_at_ns;
    });
  }

  int published() {
    int count = 0;
    changing_.Do([&] { count = published_; });
    return count;
  }

 private:
  Changing changing_;  // guards all below
  std::map<std::string, Health> last_;
  int published_ = 0;
};

// Wants the next sample after `wait`, and remembers what it was told.
class RecordingListener : public WorkListener {
 public:
  WorkWish OnWork(const absl::StatusOr<WorkCounters>& sample, Now) override {
    absl::Duration wait;
    changing_.Do([&] {
      statuses_.push_back(sample.status());
      wait = wait_;
    });
    if (meanwhile_ != nullptr) std::exchange(meanwhile_, nullptr)();
    return {.after = wait};
  }
  // During the first call. Before the monitor starts.
  void Meanwhile(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }
  void Want(absl::Duration wait) {
    changing_.Do([&] { wait_ = wait; });
  }
  void AwaitCode(absl::StatusCode code) {
    EXPECT_TRUE(changing_.Await([&] {
      for (const absl::Status& status : statuses_) {
        if (status.code() == code) return true;
      }
      return false;
    }));
  }

 private:
  std::function<void()> meanwhile_;  // of the monitor's thread
  Changing changing_;                // guards all below
  absl::Duration wait_ = absl::Milliseconds(1);
  std::vector<absl::Status> statuses_;
};

// One profile "p" on the primary's signal "load", polled every 5 ms and never idle.
class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest() {
    spec_.target = "orders";
    spec_.polling.interval = absl::Milliseconds(5);
    spec_.polling.idle_after = absl::Hours(1);
    spec_.profiles = {Profile("p", {Signal("load", Scope::kPrimary, 10, 20)})};
    spec_.profiles[0].spec.stale_after = absl::Minutes(10);
    primary_->Answer("load", 0);
    standby_->Answer("own on s2", 0);
  }
  ~MonitorTest() override { monitor_.reset(); }

  void Start(WorkListener* work = nullptr) {
    MonitorProbes probes;
    probes.primary = primary_->MakeProbe();
    for (const StandbySpec& standby : spec_.standbys) {
      if (standby.has_connection) probes.standbys.push_back(standby_->MakeProbe());
    }
    monitor_ = std::make_unique<TargetMonitor>(
        spec_, std::move(probes),
        MonitorOptions{
            .clock = &clock_, .sink = &sink_, .work = work, .seed = 7, .is_awaited = [this] {
              return is_awaited_.load();
            }});
    monitor_->Start();
  }

  SystemClock clock_;
  std::atomic<bool> is_awaited_{false};
  std::shared_ptr<FakeServer> primary_ = std::make_shared<FakeServer>(&clock_);
  std::shared_ptr<FakeServer> standby_ = std::make_shared<FakeServer>(&clock_);
  RecordingSink sink_;
  MonitorSpec spec_;
  std::unique_ptr<TargetMonitor> monitor_;
};

TEST_F(MonitorTest, IsWarmingFromTheStartAndHealthyWithTheFirstPoll) {
  primary_->Hang();
  Start();
  EXPECT_TRUE(sink_.Await(HealthStatus::kWarming).gate_shut);
  primary_->Release();
  EXPECT_FALSE(sink_.Await(HealthStatus::kHealthy).gate_shut);
}

TEST_F(MonitorTest, BreachIsPublishedAndItsEndToo) {
  Start();
  sink_.Await(HealthStatus::kHealthy);
  primary_->Answer("load", 30);
  sink_.Await("p", [](const Health& health) { return health.gate_shut; });
  primary_->Answer("load", 0);
  sink_.Await("p", [](const Health& health) { return !health.gate_shut; });
}

TEST_F(MonitorTest, SampleGoesStaleInTimeAlthoughThePollHangs) {
  spec_.profiles[0].spec.stale_after = absl::Milliseconds(50);
  Start();
  sink_.Await(HealthStatus::kHealthy);
  primary_->Hang();
  EXPECT_TRUE(sink_.Await(HealthStatus::kStale).gate_shut);
  primary_->Release();
  sink_.Await(HealthStatus::kHealthy);
}

TEST_F(MonitorTest, FailingServerIsTriedEverMoreSeldom) {
  primary_->Fail(absl::UnavailableError("connection refused"));
  Start();
  primary_->AwaitPolls(6);
  const std::vector<int64_t> at_ns = primary_->PollTimes();
  // At least half of 5 ms x 2^(n-1).
  for (size_t n = 1; n < 6; ++n) {
    EXPECT_GE(at_ns[n] - at_ns[n - 1], 2'500'000 << (n - 1)) << n;
  }
  primary_->Fail(absl::OkStatus());
  sink_.Await(HealthStatus::kHealthy);
  EXPECT_TRUE(monitor_->Snapshot().servers[0].reachable);
}

TEST_F(MonitorTest, DemandWakesAnIdleTarget) {
  spec_.polling.idle_after = absl::ZeroDuration();
  spec_.polling.idle_interval = absl::Hours(1);
  Start();
  Health health = sink_.AwaitNewerThan(0);
  for (int i = 0; i < 3; ++i) {
    monitor_->activity()->Note();
    health = sink_.AwaitNewerThan(health.sampled_at_ns);
    EXPECT_EQ(health.status, HealthStatus::kHealthy);
  }
  EXPECT_EQ(primary_->PollTimes().size(), 4U);
}

TEST_F(MonitorTest, TargetThatSomebodyWaitsForIsNotIdle) {
  spec_.polling.idle_after = absl::ZeroDuration();
  spec_.polling.idle_interval = absl::Hours(1);
  is_awaited_ = true;
  Start();
  primary_->AwaitPolls(20);
  // What ends the wait is seen as soon as it is true.
  primary_->Answer("load", 30);
  sink_.Await("p", [](const Health& health) { return health.gate_shut; });
  primary_->Answer("load", 0);
  sink_.Await("p", [](const Health& health) { return !health.gate_shut; });
}

TEST_F(MonitorTest, StopsWhileAPollHangs) {
  primary_->Hang();
  Start();
  primary_->AwaitPolls(1);
  monitor_->Stop();
  const int published = sink_.published();
  monitor_->activity()->Note();
  monitor_->Stop();
  EXPECT_EQ(sink_.published(), published);
}

TEST_F(MonitorTest, HungStandbyHoldsUpNeitherThePrimaryNorOtherProfiles) {
  spec_.standbys = {ConnectedStandby("s2", "s2")};
  spec_.profiles.push_back(Profile("standby", {Signal("own", Scope::kStandby, 1, 5)}));
  standby_->Hang();
  Start();
  const Health first = sink_.Await(HealthStatus::kHealthy);
  sink_.AwaitNewerThan(first.sampled_at_ns);
  sink_.Await("standby", [](const Health& health) {
    return health.status == HealthStatus::kWarming && health.gate_shut;
  });
  standby_->Release();
  sink_.Await("standby",
              [](const Health& health) { return health.status == HealthStatus::kHealthy; });
}

TEST_F(MonitorTest, ExpiryOfASetAsideStandbyIsPublishedWithoutAPoll) {
  spec_.polling.interval = absl::Hours(1);
  spec_.standbys = {Standby("s1", "s1")};
  spec_.standbys[0].set_aside_until = clock_.Read().wall() + absl::Milliseconds(100);
  spec_.profiles[0].spec.signals = {Signal("lag", Scope::kStandbyOnPrimary, 1, 5)};
  spec_.profiles[0].spec.stale_after = absl::Hours(2);
  primary_->Answer("lag on s1", std::nullopt);
  Start();
  sink_.Await("p", [](const Health& health) {
    return health.status == HealthStatus::kHealthy && health.gate_shut;
  });
  EXPECT_EQ(primary_->PollTimes().size(), 1U);
}

TEST_F(MonitorTest, ReconfiguringAppliesAtOnceAndAsksAtOnce) {
  spec_.polling.interval = absl::Hours(1);
  primary_->Answer("load", 12);
  Start();
  const Health before = sink_.AwaitNewerThan(0);
  spec_.profiles[0].spec.signals[0].hard = 11;
  ASSERT_TRUE(monitor_->Reconfigure(spec_).ok());
  EXPECT_TRUE(sink_.Await("p", [](const Health& health) { return health.gate_shut; }).gate_shut);
  sink_.AwaitNewerThan(before.sampled_at_ns);
}

TEST_F(MonitorTest, OtherConnectionsTakeAnotherMonitor) {
  Start();
  spec_.standbys = {ConnectedStandby("s2", "s2")};
  EXPECT_EQ(monitor_->Reconfigure(spec_).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MonitorTest, WorkIsSampledBetweenPolls) {
  RecordingListener listener;
  spec_.polling.interval = absl::Hours(1);
  Start(&listener);
  primary_->AwaitWork(5);
  listener.AwaitCode(absl::StatusCode::kOk);
  EXPECT_EQ(primary_->PollTimes().size(), 1U);
  monitor_.reset();
}

TEST_F(MonitorTest, WorkThatIsNotWantedIsNotSampledUntilTheTargetIsReconfigured) {
  RecordingListener listener;
  listener.Want(absl::InfiniteDuration());
  Start(&listener);
  primary_->AwaitWork(1);
  listener.AwaitCode(absl::StatusCode::kOk);
  const size_t polls = primary_->PollTimes().size();
  primary_->AwaitPolls(polls + 3);
  EXPECT_EQ(primary_->WorkSamples(), 1U);
  ASSERT_TRUE(monitor_->Reconfigure(spec_).ok());
  primary_->AwaitWork(2);
  monitor_.reset();
}

TEST_F(MonitorTest, ReloadWhileTheListenerSaysThatNoWorkIsWantedIsNotLost) {
  RecordingListener listener;
  spec_.polling.interval = absl::Hours(1);
  listener.Want(absl::InfiniteDuration());
  listener.Meanwhile([&] { EXPECT_TRUE(monitor_->Reconfigure(spec_).ok()); });
  Start(&listener);
  primary_->AwaitWork(2);
  monitor_.reset();
}

TEST_F(MonitorTest, ListenerLearnsThatThePrimaryCannotBeReached) {
  RecordingListener listener;
  primary_->Fail(absl::UnavailableError("connection refused"));
  Start(&listener);
  listener.AwaitCode(absl::StatusCode::kUnavailable);
  EXPECT_EQ(primary_->WorkSamples(), 0U);
  primary_->Fail(absl::OkStatus());
  listener.AwaitCode(absl::StatusCode::kOk);
  monitor_.reset();
}

TEST_F(MonitorTest, StopsWhileASampleOfWorkHangs) {
  RecordingListener listener;
  spec_.polling.interval = absl::Hours(1);
  listener.Want(absl::Milliseconds(1));
  Start(&listener);
  primary_->AwaitWork(1);
  primary_->Hang();
  primary_->AwaitHungCall();
  monitor_->Stop();
  monitor_.reset();
}

}  // namespace
}  // namespace headgate::health
