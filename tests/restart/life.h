// headgated as an operating system runs it: started, told to stop or killed, and started again on
// the same port, with the state that it left.
#ifndef HEADGATE_TESTS_RESTART_LIFE_H_
#define HEADGATE_TESTS_RESTART_LIFE_H_

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "tests/load/subprocess.h"
#include "tests/testing/wait_until.h"

namespace headgate {

inline int64_t MonotonicNs() { return SystemClock::ReadKernel().monotonic_ns; }

class RestartLife {
 public:
  RestartLife(std::filesystem::path folder, const std::string& yaml,
              std::vector<std::string> more_flags = {})
      : folder_(std::move(folder)), more_flags_(std::move(more_flags)) {
    std::filesystem::create_directory(folder_ / "state");
    std::ofstream(folder_ / "headgate.yaml") << yaml;
    Start();
  }

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  void Start() {
    const std::filesystem::path port_file = folder_ / "port";
    std::filesystem::remove(port_file);
    std::vector<std::string> command = {
        HEADGATED_PROGRAM, absl::StrCat("--config=", (folder_ / "headgate.yaml").string()),
        absl::StrCat("--grpc-address=127.0.0.1:", port_),
        absl::StrCat("--port-file=", port_file.string()),
        absl::StrCat("--state-dir=", (folder_ / "state").string())};
    command.insert(command.end(), more_flags_.begin(), more_flags_.end());
    auto started = load::Subprocess::Start(command, folder_ / "output");
    ASSERT_TRUE(started.ok()) << started.status();
    process_ = *std::move(started);
    int port = 0;
    const bool listens =
        WaitUntil([&] { return process_->HasEnded() || std::ifstream(port_file) >> port; });
    ASSERT_TRUE(listens && port > 0) << process_->Outcome();
    port_ = port;
  }

  void Signal(int signal) { kill(process_->pid(), signal); }
  bool HasEnded(absl::Duration limit) { return process_->HasEnded(limit); }
  absl::Status Outcome() const { return process_->Outcome(); }
  std::filesystem::path StateFile(const std::string& name) const {
    return folder_ / "state" / name;
  }

  // Until it has ended; how long that took. It has to end well.
  absl::Duration Terminate() {
    const int64_t from_ns = MonotonicNs();
    kill(process_->pid(), SIGTERM);
    EXPECT_TRUE(process_->HasEnded(absl::Seconds(30)));
    EXPECT_TRUE(process_->Outcome().ok()) << process_->Outcome();
    return absl::Nanoseconds(MonotonicNs() - from_ns);
  }
  void Kill() {
    kill(process_->pid(), SIGKILL);
    EXPECT_TRUE(process_->HasEnded(absl::Seconds(30)));
  }

 private:
  const std::filesystem::path folder_;
  const std::vector<std::string> more_flags_;
  int port_ = 0;
  std::unique_ptr<load::Subprocess> process_;
};

}  // namespace headgate

#endif  // HEADGATE_TESTS_RESTART_LIFE_H_
