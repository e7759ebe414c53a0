// Display: what the user sees while the experiment runs.
//
// On a terminal a panel that is drawn anew, elsewhere a line every two seconds and at each change
// of phase. Thread-compatible.
//
//   Display display(stdout);
//   display.Say("starting PostgreSQL");
//   display.Show(moment);
//   display.Close();  // before anything else is printed
#pragma once

#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "tests/demo/headgated.h"
#include "tests/demo/record.h"
#include "tests/demo/screen.h"

namespace headgate::demo {

// The experiment at one moment.
struct Moment {
  absl::Time now;
  absl::Duration elapsed;
  absl::Duration total;
  const Slice& slice;
  const load::Transactions& transactions;
  const load::ChunkLog& chunks;
  const ServerView& server;
};

class Display {
 public:
  explicit Display(FILE* out) : screen_(out) {}

  // A line that stays.
  void Say(const std::string& line);
  void Show(const Moment& moment);
  // Leaves what is shown where it is.
  void Close() { screen_.Close(); }

 private:
  Screen screen_;
  Phase last_phase_ = Phase::kPause;
  absl::Time last_line_ = absl::InfinitePast();
};

// For a person; what a phase is about.
std::string NameOf(const Slice& slice);

}  // namespace headgate::demo
