// Runs a function in a forked child, since what it does to its process can't be taken back.
//
// The child begins at normal priority, as far as it may: whoever runs the tests may have lowered
// them. The program that forks must have no other threads.
//
//   EXPECT_EQ(InChild([] { return std::to_string(getpid()); }), "4711");
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "absl/functional/function_ref.h"
#include "gtest/gtest.h"

namespace headgate::scheduling {

// What the function returns in the child; and nothing of the child is left.
inline std::string InChild(absl::FunctionRef<std::string()> act) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const sched_param none = {};
    sched_setscheduler(0, SCHED_OTHER, &none);
    const std::string text = act();
    const bool sent = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 1024> piece = {};
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

}  // namespace headgate::scheduling
