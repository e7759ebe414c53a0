// Screen: lines that stay, and a panel below them that is drawn anew where there is a terminal.
//
// Thread-compatible.
//
//   Screen screen(stdout);
//   screen.Say("starting PostgreSQL");
//   if (screen.is_terminal()) screen.Draw({Progress(elapsed, total), Sparkline(rates)});
//   screen.Close();  // before anything else is printed
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::demo {

class Screen {
 public:
  explicit Screen(FILE* out);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return is_terminal_; }
  // A line that stays.
  void Say(const std::string& line);
  // Over what was drawn before.
  void Draw(const std::vector<std::string>& lines);
  // Leaves what is drawn where it is.
  void Close() { drawn_ = 0; }

 private:
  FILE* const out_;
  const bool is_terminal_;
  int drawn_ = 0;  // lines of the panel on the screen
};

// A bar for each value, up to the largest.
std::string Sparkline(const std::vector<double>& values);

std::string Progress(absl::Duration elapsed, absl::Duration total);

}  // namespace headgate::demo
