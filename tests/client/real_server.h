// RealServer: a server in this process, and a client whose time is the server's: while it waits,
// budgets drain.
//
//   RealServer server(OneBudget(RateBudget("rows", 10, 10)));
//   auto client = server.NewClient(Options());
#pragma once

#include <headgate/client.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/client_fixture.h"
#include "tests/testing/in_process_server.h"

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

class RealServer : public InProcessServer {
 public:
  using InProcessServer::InProcessServer;

  // For one client at a time.
  ClockTime& time() { return *time_; }

  std::unique_ptr<Client> NewClient(ClientOptions options) {
    return NewClient(std::move(options), NewGrpcTransport(address()));
  }
  std::unique_ptr<Client> NewClient(ClientOptions options, std::shared_ptr<Transport> transport) {
    options.time = time_;
    options.check_deadline = absl::Seconds(30);
    return Take(Client::Create(options, std::move(transport)));
  }

 private:
  std::shared_ptr<ClockTime> time_ = std::make_shared<ClockTime>(clock);
};

}  // namespace headgate::client
