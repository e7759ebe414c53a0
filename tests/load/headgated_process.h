// headgated as a process of its own, from the folder of this program, on a free port of loopback
// and without one for HTTP.
//
// Thread-compatible. It is killed when the thread that started it ends; see subprocess.h.
//
//   auto server = HeadgatedProcess::Start("/tmp/soak", {"--config", "/tmp/soak/headgate.yaml"});
//   ... (*server)->address() ...
//   absl::Status status = (*server)->Stop();
#ifndef HEADGATE_TESTS_LOAD_HEADGATED_PROCESS_H_
#define HEADGATE_TESTS_LOAD_HEADGATED_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/load/subprocess.h"

namespace headgate::load {

class HeadgatedProcess {
 public:
  // Returns once it listens. Its log is headgated.log in `folder`.
  static absl::StatusOr<std::unique_ptr<HeadgatedProcess>> Start(
      const std::string& folder, const std::vector<std::string>& arguments);

  const std::string& address() const { return address_; }  // host:port
  pid_t pid() const { return process_->pid(); }
  bool HasEnded() { return process_->HasEnded(); }

  // SIGTERM: an error unless it ends well within half a minute, and had not ended before.
  absl::Status Stop();

 private:
  explicit HeadgatedProcess(std::unique_ptr<Subprocess> process) : process_(std::move(process)) {}

  const std::unique_ptr<Subprocess> process_;
  std::string address_;
};

}  // namespace headgate::load

#endif  // HEADGATE_TESTS_LOAD_HEADGATED_PROCESS_H_
