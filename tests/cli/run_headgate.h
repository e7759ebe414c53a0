// The command line as a program, to its end.
//
//   EXPECT_EQ(RunHeadgate({"--version"}).status, 0);
//   Subprocess program(HeadgateCommand({"top"}), {.terminal = true});
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/subprocess.h"

namespace headgate::cli {

// The program, with time for an answer that a busy machine does not use up: its own default is two
// seconds. What the words say goes before that.
inline std::vector<std::string> HeadgateCommand(const std::vector<std::string>& words) {
  std::vector<std::string> command = {HEADGATE_PROGRAM};
  if (std::ranges::find(words, "--timeout") == words.end()) {
    command.insert(command.end(), {"--timeout", "60s"});
  }
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

inline Finished RunHeadgate(const std::vector<std::string>& words,
                            const SubprocessOptions& options = {}) {
  return Subprocess(HeadgateCommand(words), options).Wait();
}

// A server, and the program told where it is.
template <typename Server>
class AskedByHeadgate : public Server {
 public:
  using Server::Server;

  SubprocessOptions Options() const {
    return {.environment = {{"HEADGATE_ADDRESS", this->address()}}};
  }
  Finished Headgate(std::vector<std::string> words) const {
    return RunHeadgate(std::move(words), Options());
  }
};

}  // namespace headgate::cli
