// Subprocess: a program that a test runs, with its output kept apart.
//
// What it prints can be read while it runs. One that still runs at the end is killed.
//
// Thread-compatible.
//
//   EXPECT_EQ(RunHeadgate({"--version"}).status, 0);
//   Subprocess program({HEADGATE_PROGRAM, "top"}, {.terminal = true});
#ifndef HEADGATE_TESTS_CLI_SUBPROCESS_H_
#define HEADGATE_TESTS_CLI_SUBPROCESS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headgate::cli {

struct Finished {
  int status = -1;  // as shells count it
  std::string out;
  std::string err;
};

struct SubprocessOptions {
  std::map<std::string, std::string> environment = {};  // on top of the test's
  bool terminal = false;  // of 100 columns and 40 rows, in place of all three streams
  int ignored = 0;        // a signal that is ignored when the program begins; 0: none
};

class Subprocess {
 public:
  explicit Subprocess(const std::vector<std::string>& command,
                      const SubprocessOptions& options = {});
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  // What it has printed so far; on a terminal all of it is `Out`.
  std::string Out();
  std::string Err();
  // Keys, on a terminal.
  void Type(const std::string& keys);
  // The terminal's end that the test holds.
  int terminal() const { return terminal_; }

  void Signal(int signal);
  Finished Wait();

 private:
  pid_t pid_ = 0;
  std::optional<int> status_;
  int out_ = -1;
  int err_ = -1;
  int terminal_ = -1;
  int program_side_ = -1;  // open, so that the terminal outlives the program
  std::string shown_;      // on the terminal, so far
};

// headgate itself, to its end.
Finished RunHeadgate(std::vector<std::string> words, const SubprocessOptions& options = {});

}  // namespace headgate::cli

#endif  // HEADGATE_TESTS_CLI_SUBPROCESS_H_
