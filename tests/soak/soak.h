// The soak: a server under mixed load and faults for some minutes, its memory, files and threads
// sampled each second, every answer looked at, and a verdict at the end.
//
// Jobs check, batch, stream, retry and report, or die. Operators read status and log, make
// overrides and end them. Callers come, vanish in the middle of a call, send rubbish or nothing.
// Every 15 s the configuration is replaced by a good one and by a bad one, PostgreSQL (where it is
// installed) hangs for 3 s, crashes and comes back, and the log's disk is full for 3 s (as root).
// It fails if
//
// - memory, open files or threads have grown between two windows of the same whole number of
//   cycles, one after the first two fifths, one at the end: memory's lower quartile by more than
//   3 % + 6 MiB, the medians of the others by more than 5 % + 3 and by 3;
// - a caller got an error, or an answer, that it should not have got;
// - a budget admitted more than burst + rate * time + refunds, in any second, any 10 s, or in all;
// - left alone, the server does not recover descriptors, permits, health or log, or ends badly.
//
// Two minutes show a leak of some 200 bytes a call, half an hour one of ten. `--keep` leaves the
// server's log and samples.csv behind. With AddressSanitizer memory is not judged.
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
