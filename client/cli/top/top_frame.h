// One frame of the live view: a header, the lines that the window has room for, and a line of keys.
//
// Pure functions; thread-safe.

#pragma once

#include <string>

#include "client/cli/output/terminal.h"
#include "client/cli/top/scroll.h"
#include "client/cli/top/top_fetch.h"
#include "client/cli/top/top_lead.h"

namespace headgate::cli {

enum class TopPage { kAnswers, kHelp };

struct TopFrame {
  const TopAnswers& answers;
  TopLook look;
  TopPage page = TopPage::kAnswers;
  std::string trouble;  // why the newest answers are missing
};

// As many lines as the window has rows, none longer than it is wide. The scroll is fitted to them.
std::string FrameText(const TopFrame& frame, const Screen::Size& size, Scroll& scroll);

}  // namespace headgate::cli
