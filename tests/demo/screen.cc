#include "tests/demo/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace headgate::demo {
namespace {

bool HasUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

int TerminalWidth(FILE* out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// Bytes that continue a character take no room.
std::string CutTo(std::string_view text, int width) {
  std::string cut;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
    if (!continues && width-- <= 0) break;
    cut += byte;
  }
  return cut;
}

}  // namespace

Screen::Screen(FILE* out) : out_(out), is_terminal_(isatty(fileno(out)) == 1) {}

void Screen::Say(const std::string& line) {
  Close();
  absl::FPrintF(out_, "%s\n", line);
  fflush(out_);
}

// Each line to its end, so that nothing flickers.
void Screen::Draw(const std::vector<std::string>& lines) {
  std::string all;
  if (drawn_ > 0) absl::StrAppendFormat(&all, "\x1b[%dA", drawn_);
  const int width = TerminalWidth(out_) - 1;
  for (const std::string& line : lines) absl::StrAppend(&all, CutTo(line, width), "\x1b[K\n");
  absl::FPrintF(out_, "%s", all);
  fflush(out_);
  drawn_ = static_cast<int>(lines.size());
}

std::string Sparkline(const std::vector<double>& values) {
  static const bool utf8 = HasUtf8();
  constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  const double most = std::max(1.0, *std::max_element(values.begin(), values.end()));
  std::string line;
  for (const double value : values) {
    auto level = static_cast<size_t>(value / most * 8 + .5);
    if (value > 0) level = std::max<size_t>(level, 1);
    line += (utf8 ? kBlocks : kAscii).at(level);
  }
  return line;
}

std::string Progress(absl::Duration elapsed, absl::Duration total) {
  constexpr int kWidth = 30;
  const double share = std::clamp(absl::FDivDuration(elapsed, total), 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '=');
  bar.resize(kWidth, ' ');
  return absl::StrFormat("[%s] %.0f of about %.0f s", bar, absl::ToDoubleSeconds(elapsed),
                         absl::ToDoubleSeconds(total));
}

}  // namespace headgate::demo
