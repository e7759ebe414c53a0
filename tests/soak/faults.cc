#include "tests/soak/faults.h"

#include <poll.h>

#include <algorithm>

#include "tests/testing/wait_until.h"

namespace headgate::soak {

void Faults::WaitFor(double second) const {
  const int64_t at_ns = begins_ns_ + static_cast<int64_t>(second * 1e9);
  while (!server_.has_ended()) {
    const int64_t left_ms = (at_ns - MonotonicNs()) / 1'000'000;
    if (left_ms <= 0) return;
    poll(nullptr, 0, static_cast<int>(std::min<int64_t>(left_ms, 100)));
  }
}

absl::Status Faults::RunCycle(int number, int64_t begins_ns) {
  begins_ns_ = begins_ns;
  WaitFor(0);
  server_.Reload(number);
  WaitFor(2);
  server_.ReloadBadly(number);
  absl::Status status = Database();
  status.Update(Disk());
  WaitFor(kCycleSeconds);
  if (server_.has_ended()) status.Update(server_.Stop());
  return status;
}

// Longer than its health stays fresh; then it is gone for as long as it takes to start.
absl::Status Faults::Database() {
  PostgresServer* const postgres = server_.postgres();
  if (postgres == nullptr) return absl::OkStatus();
  WaitFor(3);
  postgres->Suspend();
  WaitFor(6);
  postgres->Resume();
  WaitFor(7);
  absl::Status status = postgres->Stop(PostgresServer::StopMode::kImmediate);
  if (status.ok()) status = postgres->Start();
  return status;
}

absl::Status Faults::Disk() {
  WaitFor(9);
  absl::Status status = server_.FillDisk();
  WaitFor(12);
  server_.FreeDisk();
  return status;
}

}  // namespace headgate::soak
