// RealServer: Headgate's own gRPC server and engine in this process, on a port of their own, and a
// client whose time is theirs: while it waits, their budgets drain.
//
//   RealServer server(OneBudget(RateBudget("rows", 10, 10)));
//   auto client = server.NewClient(Options());
#pragma once

#include <headgate/client.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "server/engine/engine.h"
#include "server/rpc/rpc_server.h"
#include "tests/client/client_fixture.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::client {

// A clock that others read as well; waiting moves it.
class ClockTime final : public TimeSource {
 public:
  explicit ClockTime(FakeClock& clock) : clock_(clock) {}

  absl::Duration Now() override { return absl::Nanoseconds(clock_.Read().monotonic_ns); }
  void Wait(absl::Duration duration, const std::stop_token&) override {
    clock_.Advance(duration);
    waits_.push_back(duration);
  }

  const std::vector<absl::Duration>& waits() const { return waits_; }

 private:
  FakeClock& clock_;
  std::vector<absl::Duration> waits_;
};

class RealServer {
 public:
  explicit RealServer(engine::PolicySpec policy) {
    const absl::Status installed = engine_.Install(std::move(policy), clock_.Read());
    EXPECT_TRUE(installed.ok()) << installed;
    auto server = rpc::RpcServer::Start({.address = "127.0.0.1:0"}, quiet_.all);
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }
  // For one client at a time.
  ClockTime& time() { return *time_; }
  engine::Engine& engine() { return engine_; }

  std::unique_ptr<Client> NewClient(ClientOptions options) {
    return NewClient(std::move(options), NewGrpcTransport(address()));
  }
  std::unique_ptr<Client> NewClient(ClientOptions options, std::shared_ptr<Transport> transport) {
    options.time = time_;
    options.check_deadline = absl::Seconds(30);
    return Take(Client::Create(options, std::move(transport)));
  }

  // What the one bucket of a Check by this identity owes.
  double Debt(const std::string& identity) {
    const auto explained = engine_.Explain({.identity = identity}, clock_.Read());
    EXPECT_TRUE(explained.ok()) << explained.status();
    return explained.ok() ? explained->buckets.at(0).debt : -1;
  }

 private:
  FakeClock clock_;
  engine::Engine engine_{engine::EngineOptions{.seed = 1}};
  rpc::QuietDependencies quiet_{engine_, clock_};
  std::unique_ptr<rpc::RpcServer> server_;
  std::shared_ptr<ClockTime> time_ = std::make_shared<ClockTime>(clock_);
};

}  // namespace headgate::client
