// The terminal of a live view: a screen to draw on, and what may happen meanwhile.
//
// SignalInbox takes signals as events instead of interruptions. It has to be made before any other
// thread is: threads that exist already would still be interrupted.
//
// Screen switches stdout to the alternate screen and stdin to single keys, and back when it is
// destroyed. Both are for one thread, and one at a time in a process.
//
//   SignalInbox signals;
//   Screen screen;
//   screen.Draw(text);

#ifndef HEADGATE_CLIENT_CLI_TERMINAL_H_
#define HEADGATE_CLIENT_CLI_TERMINAL_H_

#include <termios.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::cli {

class SignalInbox {
 public:
  // INT, TERM, HUP, QUIT, TSTP and WINCH.
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable while there is a signal.
  int fd() const { return fd_; }
  // The signal that arrived.
  int Take() const;

 private:
  sigset_t before_;
  int fd_;
};

// Of stdout, if that is a terminal; else as $COLUMNS has it, else 80.
size_t TerminalColumns();

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows the lines of the text, cut to the size of the window. False: the terminal is gone.
  bool Draw(std::string_view text);
  // Gives the terminal back, stops this process as the terminal's stop key does, and takes the
  // terminal again when it is continued.
  void Suspend();
  // A key that was typed. Only where stdin is a terminal is there any.
  static std::optional<char> TakeKey();

 private:
  void Enter();
  void Leave();

  std::optional<termios> keys_before_;  // absent: stdin is no terminal
};

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_TERMINAL_H_
