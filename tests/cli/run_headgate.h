// The command line as a program, to its end.
//
//   EXPECT_EQ(RunHeadgate({"--version"}).status, 0);
//   Subprocess program({HEADGATE_PROGRAM, "top"}, {.terminal = true});
#pragma once

#include <string>
#include <vector>

#include "tests/testing/subprocess.h"

namespace headgate::cli {

inline Finished RunHeadgate(std::vector<std::string> words, const SubprocessOptions& options = {}) {
  words.insert(words.begin(), HEADGATE_PROGRAM);
  return Subprocess(words, options).Wait();
}

}  // namespace headgate::cli
