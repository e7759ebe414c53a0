// Screen: the terminal of a live view, to draw on.
//
// It switches stdout to the alternate screen and stdin to single keys, and back when it is
// destroyed. For one thread, and one at a time in a process.
//
//   Screen screen;
//   screen.Draw(text);

#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::cli {

// Of stdout, if that is a terminal; else as $COLUMNS has it, else 80.
size_t TerminalColumns();

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  struct Size {
    size_t rows = 24;
    size_t columns = 80;
  };
  static Size WindowSize();
  // Shows the lines of the text, cut to the size of the window. False: the terminal is gone.
  bool Draw(std::string_view text);
  // Gives the terminal back, stops this process as the terminal's stop key does, and takes the
  // terminal again when it is continued.
  void Suspend();
  // What was typed, at least a byte. Only where stdin is a terminal is there any. Absent: it is
  // gone.
  static std::optional<std::string> TakeTyped();

 private:
  void Enter();
  void Leave();

  std::optional<termios> keys_before_;  // absent: stdin is no terminal
};

}  // namespace headgate::cli
