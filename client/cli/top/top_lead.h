// What `top` says first: gates that are shut, who is held back and by what, and what is in force.
//
// Pure functions; thread-safe.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/output/table.h"
#include "client/cli/top/held_back.h"
#include "client/cli/top/top_fetch.h"

namespace headgate::cli {

// How a frame looks.
struct TopLook {
  std::string address = {};     // of the server, to show
  std::string connection = {};  // as Globals::connection
  std::string target = {};      // of overrides; empty: of all
  absl::TimeZone zone = absl::UTCTimeZone();
  Colours colours = Colours::kOff;
  size_t columns = std::string::npos;  // tables and commands are broken or shortened to fit
  TopOrder order = TopOrder::kDenied;
};

// A line for each gate that is shut, the servers that cannot be reached, and what could not be
// read.
std::vector<std::string> TroubleLines(const TopAnswers& answers, const TopLook& look);
// A table with its title.
std::vector<std::string> HeldBackLines(const TopAnswers& answers, const TopLook& look);
// Each override with the command that ends it; emergency stops first.
std::vector<std::string> InForceLines(const TopAnswers& answers, const TopLook& look);

// The lines of a text.
std::vector<std::string> LinesOf(const std::string& text);

}  // namespace headgate::cli
