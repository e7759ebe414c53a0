// The command line as a program, to its end.
//
//   EXPECT_EQ(RunHeadgate({"--version"}).status, 0);
//   Subprocess program({HEADGATE_PROGRAM, "top"}, {.terminal = true});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/subprocess.h"

namespace headgate::cli {

inline Finished RunHeadgate(std::vector<std::string> words, const SubprocessOptions& options = {}) {
  words.insert(words.begin(), HEADGATE_PROGRAM);
  return Subprocess(words, options).Wait();
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
