// Subprocess: a program that runs beside this one and never outlives it.
//
// It is in a session of its own, so that Ctrl-C in the terminal reaches this program alone, which
// then ends the others in order. Should this program be killed outright, the kernel kills the
// subprocess when the thread that started it is gone: start it from a thread that lives on.
//
// What it prints can be read while it runs. A program that is not there has ended with status 127,
// as in a shell, and its output says why.
//
// Thread-compatible.
//
//   Subprocess server({"/usr/bin/server", "--port=0"}, {.log = "/tmp/server.log"});
//   absl::Status status = server.Stop();
//   EXPECT_EQ(Subprocess({"date"}).Wait().status, 0);
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate {

struct Finished {
  int status = -1;  // as shells count it
  std::string out;
  std::string err;
};

struct SubprocessOptions {
  // On top of this program's, without what would change the output from one machine to the next.
  std::map<std::string, std::string> environment = {};
  std::string log = {};   // a file that both streams are appended to; empty: they are kept apart
  bool terminal = false;  // of 100 columns and 40 rows, in place of all three streams
  int ignored = 0;        // a signal that is ignored when the program begins; 0: none
};

class Subprocess {
 public:
  explicit Subprocess(const std::vector<std::string>& command,
                      const SubprocessOptions& options = {});
  ~Subprocess();  // SIGKILL
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  // What it has printed so far; on a terminal all of it is `Out`, and in a log all of it is both.
  std::string Out();
  std::string Err() const;
  // Whether a line with this text came in time, to its end: what is read while it runs may end in
  // the middle of one. Nothing is waited for once the program has ended.
  bool AwaitOut(std::string_view text);
  bool AwaitErr(std::string_view text);
  // Keys, on a terminal.
  void Type(const std::string& keys) const;
  // The terminal's end that the test holds.
  int terminal() const { return terminal_; }

  void Signal(int signal) const;
  // Whether it has ended by now, or within `limit`.
  bool HasEnded(absl::Duration limit = absl::ZeroDuration());
  // To its end, which is by SIGKILL once the limit is over.
  Finished Wait(absl::Duration limit = absl::Minutes(2));
  void Kill();

  // How it ended: OK after exit status 0, else an error that quotes the end of its output.
  // FailedPrecondition while it runs.
  absl::Status Outcome();
  // SIGTERM, and SIGKILL where that does not help within `grace`. OK if it had ended well, or was
  // ended by the SIGTERM.
  absl::Status Stop(absl::Duration grace = absl::Seconds(10));

 private:
  void OpenTerminal();

  const std::string name_;
  pid_t pid_ = 0;
  int ended_ = -1;             // readable once the program has ended
  std::optional<int> status_;  // as waitpid gives it
  int out_ = -1;
  int err_ = -1;
  int terminal_ = -1;
  int program_side_ = -1;  // open, so that the terminal outlives the program
  std::string shown_;      // on the terminal, so far
};

}  // namespace headgate
