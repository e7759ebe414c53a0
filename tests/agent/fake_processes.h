// FakeProcesses: processes that a test makes, ends and looks at, in place of the machine's.
//
// Thread-compatible.
//
//   FakeProcesses processes;
//   processes.Start(7, {.parent = 1});
#pragma once

#include <map>

#include "client/agent/processes.h"

namespace headgate::agent {

class FakeProcesses final : public Processes {
 public:
  struct Process {
    int parent = 1;
    uint64_t started_ticks = 0;
    std::string group = "/cg";
    bool is_lowered = false;
    int64_t ran_ns = 0;
  };

  void Start(int pid, Process process) {
    process.started_ticks = ++ticks_;
    processes_[pid] = std::move(process);
  }
  void End(int pid) { processes_.erase(pid); }
  bool IsLowered(int pid) const { return processes_.at(pid).is_lowered; }

  // What each change comes to; and what happens just before the change.
  absl::Status change = {};
  std::function<void(int pid)> before_change = {};
  int raises = 0;

  std::optional<Found> Find(int pid) override {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return std::nullopt;
    return Found{.started_ticks = found->second.started_ticks, .parent = found->second.parent};
  }
  absl::StatusOr<Before> Read(int pid, const Means& means) override {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return absl::NotFoundError("gone");
    Before before{.policy = 3, .io_priority = 4};
    if (means.kind == Means::Kind::kGroup) before.group = found->second.group;
    return before;
  }
  absl::Status Lower(int pid, const Means&) override { return Change(pid, true); }
  absl::Status Raise(int pid, const Means&, const Before&) override {
    ++raises;
    return Change(pid, false);
  }
  std::optional<int64_t> ProcessorNs(int pid) override {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return std::nullopt;
    return found->second.ran_ns;
  }
  void Run(int pid, int64_t ns) { processes_.at(pid).ran_ns += ns; }

 private:
  absl::Status Change(int pid, bool is_lowered) {
    if (before_change) before_change(pid);
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return absl::NotFoundError("gone");
    if (change.ok()) found->second.is_lowered = is_lowered;
    return change;
  }

  uint64_t ticks_ = 0;
  std::map<int, Process> processes_;
};

}  // namespace headgate::agent
