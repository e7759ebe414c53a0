// Sends Checks that wait in line, and waits for their answers until it is killed.
//
//   headgate_waiters HOST:PORT CHECKS IDENTITY

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "tests/testing/waiting_checks.h"

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  int count = 0;
  if (words.size() != 4 || !absl::SimpleAtoi(words[2], &count)) {
    std::fputs("usage: headgate_waiters HOST:PORT CHECKS IDENTITY\n", stderr);
    return 2;
  }
  headgate::WaitingChecks checks(words[1], {.checks = count, .identity = words[3]});
  checks.Send();
  const headgate::WaitingOutcomes outcomes = checks.Await(absl::Minutes(15));
  std::printf("%d allowed\n", outcomes.allowed);
  return 0;
}
