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
#include <vector>

#include "absl/time/time.h"
#include "tests/demo/headgated.h"
#include "tests/demo/record.h"

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
  explicit Display(FILE* out);
  ~Display() { Close(); }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  // A line that stays.
  void Say(const std::string& line);
  void Show(const Moment& moment);
  // Leaves what is shown where it is.
  void Close();

 private:
  void Draw(const std::vector<std::string>& lines);

  FILE* const out_;
  const bool is_terminal_;
  int drawn_ = 0;  // lines of the panel on the screen
  Phase last_phase_ = Phase::kPause;
  absl::Time last_line_ = absl::InfinitePast();
};

// For a person; what a phase is about.
std::string NameOf(const Slice& slice);

}  // namespace headgate::demo
