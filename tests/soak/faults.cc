#include "tests/soak/faults.h"

#include <algorithm>

namespace headgate::soak {

void Faults::WaitFor(double second) const {
  const int64_t at_ns = begins_ns_ + static_cast<int64_t>(second * 1e9);
  while (!house_.has_ended()) {
    const int64_t left_ms = (at_ns - NowNs()) / 1'000'000;
    if (left_ms <= 0) return;
    poll(nullptr, 0, static_cast<int>(std::min<int64_t>(left_ms, 100)));
  }
}

absl::Status Faults::RunCycle(int number, int64_t begins_ns) {
  begins_ns_ = begins_ns;
  WaitFor(0);
  absl::Status status = house_.Reload(number);
  WaitFor(2);
  status.Update(house_.ReloadBadly(number));
  status.Update(Database());
  status.Update(Disk());
  WaitFor(kCycleSeconds);
  if (house_.has_ended()) status.Update(house_.Stop());
  return status;
}

// Longer than its health stays fresh; then it is gone for as long as it takes to start.
absl::Status Faults::Database() {
  PostgresServer* const postgres = house_.postgres();
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
  absl::Status status = house_.FillDisk();
  WaitFor(12);
  house_.FreeDisk();
  return status;
}

}  // namespace headgate::soak
