// What the tests of HealthGate share: one profile on a primary and two standbys, of which "s2" has
// a connection, and a sample that they fill by hand. Polls are 500 ms apart.
//
//   Put("load", 12.5);
//   Sampled(0);
//   EXPECT_EQ(Look().speed, 0.75);

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/observe/health/health_gate.h"
#include "tests/observe/health/specs.h"

namespace headgate::health {

class HealthGateFixture : public ::testing::Test {
 protected:
  explicit HealthGateFixture(std::vector<SignalSpec> signals)
      : profile_(Profile("p", std::move(signals))),
        standbys_({Standby("s1", "s1"), ConnectedStandby("s2", "s2")}) {
    sample_.servers.resize(2);
  }

  void Put(const std::string& instance, std::optional<double> value, std::string error = "") {
    sample_.instances[instance].reading = {instance, value, std::move(error)};
  }

  // A standby that is known not to stream.
  void PutAbsent(const std::string& instance) {
    Put(instance, std::nullopt, "not streaming");
    sample_.instances[instance].reading.is_absent = true;
  }

  // The server is sampled now.
  void Sampled(size_t server) {
    sample_.servers[server] = {
        .sampled_at_ns = NowNs(), .grace_ns = 0, .next_sample_at_ns = NowNs() + 500'000'000};
  }

  void Build() { gate_.emplace(profile_, standbys_); }

  const engine::Health& Look() {
    if (!gate_.has_value()) Build();
    return gate_->Update(sample_, clock_.Read()).health;
  }

  int64_t NowNs() { return clock_.Read().monotonic_ns; }
  const std::string& Binding() const { return gate_->verdict().signal; }

  FakeClock clock_;
  WatchedProfile profile_;
  std::vector<StandbySpec> standbys_;
  TargetSample sample_;
  std::optional<HealthGate> gate_;
};

}  // namespace headgate::health
