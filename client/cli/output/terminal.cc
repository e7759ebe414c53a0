#include "client/cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseRestOfLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Screen::Size Screen::WindowSize() {
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0) {
    return {};
  }
  return {.rows = window.ws_row, .columns = window.ws_col};
}

size_t TerminalColumns() {
  constexpr size_t kFewest = 40;
  constexpr size_t kMax = 1000;
  size_t columns = Screen::WindowSize().columns;
  const char* set = std::getenv("COLUMNS");
  if (isatty(STDOUT_FILENO) != 1 && set != nullptr) {
    if (!absl::SimpleAtoi(set, &columns)) columns = Screen::Size().columns;
  }
  return std::clamp(columns, kFewest, kMax);
}

Screen::Screen() {
  termios keys = {};
  if (tcgetattr(STDIN_FILENO, &keys) == 0) keys_before_ = keys;
  Enter();
}

Screen::~Screen() { Leave(); }

void Screen::Enter() {
  if (keys_before_) {
    termios keys = *keys_before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  WriteAll(kEnter);
}

void Screen::Leave() {
  WriteAll(kLeave);
  if (keys_before_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &*keys_before_);
}

void Screen::Suspend() {
  Leave();
  kill(getpid(), SIGSTOP);
  Enter();
}

bool Screen::Draw(std::string_view text) {
  const Size size = WindowSize();
  std::string frame(kHome);
  for (size_t row = 0; row < size.rows && !text.empty(); ++row) {
    const size_t end = text.find('\n');
    // No line break after the last row: that would scroll.
    if (row > 0) frame += "\r\n";
    frame += Fitted(text.substr(0, end), size.columns);
    frame += kEraseRestOfLine;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  frame += kEraseBelow;
  return WriteAll(frame);
}

std::optional<std::string> Screen::TakeTyped() {
  std::array<char, 256> typed;
  const ssize_t bytes = read(STDIN_FILENO, typed.data(), typed.size());
  if (bytes <= 0) return std::nullopt;
  return std::string(typed.data(), static_cast<size_t>(bytes));
}

}  // namespace headgate::cli
