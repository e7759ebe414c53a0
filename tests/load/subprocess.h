// Subprocess: a program that runs beside this one and never outlives it.
//
// It is in a session of its own, so that Ctrl-C in the terminal reaches this program alone, which
// then ends the others in order. Should this program be killed outright, the kernel kills the
// subprocess when the thread that started it is gone: start it from a thread that lives on.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Subprocess>> server =
//       Subprocess::Start({"/usr/bin/server", "--port=0"}, "/tmp/server.log");
//   absl::Status status = (*server)->Stop();
#ifndef HEADGATE_TESTS_LOAD_SUBPROCESS_H_
#define HEADGATE_TESTS_LOAD_SUBPROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::load {

class Subprocess {
 public:
  // Runs argv[0], a path. What it prints is appended to the file `output`.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(const std::vector<std::string>& argv,
                                                           const std::string& output);
  ~Subprocess();  // SIGKILL
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  // Whether it has ended by now, or within `limit`.
  bool HasEnded(absl::Duration limit = absl::ZeroDuration());

  // How it ended: OK after exit status 0, else an error that quotes the end of its output.
  // FailedPrecondition while it runs.
  absl::Status Outcome() const;

  // SIGTERM, and SIGKILL where that does not help within `grace`. OK if it had ended well, or was
  // ended by the SIGTERM.
  absl::Status Stop(absl::Duration grace = absl::Seconds(10));

 private:
  Subprocess(pid_t pid, std::string name, std::string output)
      : pid_(pid), name_(std::move(name)), output_(std::move(output)) {}

  const pid_t pid_;
  const std::string name_;
  const std::string output_;
  bool ended_ = false;
  int status_ = 0;  // as waitpid gives it, once ended_
};

}  // namespace headgate::load

#endif  // HEADGATE_TESTS_LOAD_SUBPROCESS_H_
