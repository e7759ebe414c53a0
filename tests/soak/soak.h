// The soak: a server under mixed load and faults for some minutes, its memory, files and threads
// sampled each second, every answer looked at, and a verdict at the end.
//
//   absl::StatusOr<Verdict> verdict = Soak({.minutes = 2, .folder = "/tmp/soak"});
//   verdict->Print();
//   return verdict->ok() ? 0 : 1;

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace headgate::soak {

struct SoakOptions {
  double minutes = 2;  // at least kLeastMinutes
  std::string folder;  // empty, and this program's own
};

// Two cycles of faults: each of them is met, and got over.
inline constexpr double kLeastMinutes = 0.5;
// Five cycles, less than which do not show whether memory, files and threads grow.
inline constexpr double kLeastMinutesForGrowth = 1.25;

struct Verdict {
  std::vector<std::string> lines;   // a table for a person
  std::vector<std::string> faults;  // what went wrong; empty: nothing
  std::string summary;              // one line
};

// An error: the soak could not be done, or the server did not live to its end.
absl::StatusOr<Verdict> Soak(const SoakOptions& options);

}  // namespace headgate::soak
