// Watchdog: a child of the agent that restores what is lowered, should the agent be killed.
//
// It does nothing until the agent is gone, which it sees at a pipe; then it reads the journal and
// has everything be as it was, again and again for a minute where the kernel takes no more at once.
// Signals that would end it politely it leaves out: a service manager sends them to both.
//
// Start the first one while the process has one thread. One that takes the place of another may be
// started beside threads of other libraries: the child uses nothing that they could have been
// holding but memory, which the C library sees to.
//
//   absl::StatusOr<std::unique_ptr<Watchdog>> watchdog = Watchdog::Start(*journal, log);
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/agent/journal.h"
#include "common/file_descriptor.h"

namespace headgate::agent {

class Watchdog {
 public:
  // `log` is called in the child, with a line for people.
  static absl::StatusOr<std::unique_ptr<Watchdog>> Start(
      Journal& journal, absl::FunctionRef<void(const std::string&)> log);
  // Ends it by the pipe, and waits for it for 0.1 s: what is left to restore is then its business.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  bool IsAlive();
  pid_t pid() const { return pid_; }

 private:
  Watchdog(pid_t pid, FileDescriptor pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  pid_t pid_;
  FileDescriptor pipe_;
};

}  // namespace headgate::agent
