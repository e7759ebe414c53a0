// TestServer: Headgate's own gRPC server and engine in this process, on a port of their own, with a
// clock that a test moves.
//
//   TestServer server(OneBudget(RateBudget("rows", 10, 100)));
//   EXPECT_EQ(server.Headgate({"check", "job:etl", "--cost", "5"}).status, 0);
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "server/engine/engine.h"
#include "server/rpc/rpc_server.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::cli {

class TestServer final : public rpc::StatusSource, public rpc::CheckListener {
 public:
  explicit TestServer(engine::PolicySpec policy, int port = 0,
                      std::vector<grpc::Service*> more_services = {}) {
    const absl::Status installed = engine_.Install(std::move(policy), clock_.Read());
    EXPECT_TRUE(installed.ok()) << installed;
    auto server = rpc::RpcServer::Start({.address = absl::StrCat("127.0.0.1:", port),
                                         .version = "0.1.0",
                                         .more_services = std::move(more_services)},
                                        {.engine = engine_,
                                         .clock = clock_,
                                         .status = *this,
                                         .activity = *this,
                                         .recorder = quiet_.recorder,
                                         .access = quiet_.access,
                                         .calls = quiet_.calls});
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
  }

  FakeClock& clock() { return clock_; }
  engine::Engine& engine() { return engine_; }
  int port() const { return server_->port(); }
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }
  void Stop() { server_ = nullptr; }
  // Calls of Check so far. Relaxed: a test only waits for it to grow.
  int checks() const { return checks_.load(std::memory_order_relaxed); }

  void SetTargets(std::vector<health::TargetSnapshot> targets) {
    MutexLock lock(&mutex_);
    targets_ = std::move(targets);
  }
  void SetConfig(config::LoadStatus config) {
    MutexLock lock(&mutex_);
    config_ = std::move(config);
  }
  void SetThrottleLog(throttle_log::ThrottleLogSnapshot throttle_log) {
    MutexLock lock(&mutex_);
    throttle_log_ = std::move(throttle_log);
  }
  void SetOverrides(overrides::OverridesSnapshot overrides) {
    MutexLock lock(&mutex_);
    overrides_ = std::move(overrides);
  }
  void SetSnapshot(snapshot::SnapshotView snapshot) {
    MutexLock lock(&mutex_);
    snapshot_ = std::move(snapshot);
  }
  void SetAccess(access::AccessSnapshot access) {
    MutexLock lock(&mutex_);
    access_ = std::move(access);
  }

  // The program, told where this server is.
  SubprocessOptions Options() const { return {.environment = {{"HEADGATE_ADDRESS", address()}}}; }
  Finished Headgate(std::vector<std::string> words) const {
    return RunHeadgate(std::move(words), Options());
  }

  // What the bucket of a Check by this identity owes.
  double Debt(std::string_view identity) {
    const auto explained = engine_.Explain({.identity = identity}, clock_.Read());
    EXPECT_TRUE(explained.ok()) << explained.status();
    return explained.ok() ? explained->buckets.at(0).debt : -1;
  }
  size_t permits() { return engine_.ReadStats(clock_.Read()).permits_live; }

  absl::Time StartedAt() const override { return absl::FromUnixSeconds(1'767'225'600); }
  config::LoadStatus Config() const override {
    MutexLock lock(&mutex_);
    return config_;
  }
  std::vector<health::TargetSnapshot> Targets() const override {
    MutexLock lock(&mutex_);
    return targets_;
  }
  throttle_log::ThrottleLogSnapshot ThrottleLog() const override {
    MutexLock lock(&mutex_);
    return throttle_log_;
  }
  overrides::OverridesSnapshot Overrides() const override {
    MutexLock lock(&mutex_);
    return overrides_;
  }
  snapshot::SnapshotView Snapshot() const override {
    MutexLock lock(&mutex_);
    return snapshot_;
  }
  access::AccessSnapshot Access() const override {
    MutexLock lock(&mutex_);
    return access_;
  }
  void OnCheck(std::string_view) override { checks_.fetch_add(1, std::memory_order_relaxed); }

 private:
  FakeClock clock_;
  engine::Engine engine_{engine::EngineOptions{.seed = 1}};
  rpc::QuietDependencies quiet_{engine_, clock_};
  std::atomic<int> checks_ = 0;
  mutable Mutex mutex_;
  std::vector<health::TargetSnapshot> targets_ ABSL_GUARDED_BY(mutex_);
  config::LoadStatus config_ ABSL_GUARDED_BY(mutex_);
  throttle_log::ThrottleLogSnapshot throttle_log_ ABSL_GUARDED_BY(mutex_);
  overrides::OverridesSnapshot overrides_ ABSL_GUARDED_BY(mutex_);
  snapshot::SnapshotView snapshot_ ABSL_GUARDED_BY(mutex_);
  access::AccessSnapshot access_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<rpc::RpcServer> server_;  // last: it uses all of the above
};

}  // namespace headgate::cli
