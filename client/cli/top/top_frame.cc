#include "client/cli/top/top_frame.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/zone_text.h"
#include "client/cli/top/top_text.h"

namespace headgate::cli {
namespace {

constexpr char kHelp[] =
    "HELD BACK   who waits in line, for how long and for what; who was denied, in the\n"
    "            last 5 minutes, of how many Checks, and by what last\n"
    "and below   what is in force, each with the command that ends it;\n"
    "            HEALTH, BUDGETS, FULLEST BUCKETS, and the lines of those who wait\n"
    "\n"
    "arrows j k  a line down and up          d  most denied first\n"
    "PgUp PgDn   a page, as b and space      w  longest waiting first\n"
    "g G         the beginning, the end      n  by name\n"
    "?           this help                   q  quit, as Ctrl-C\n"
    "\n"
    "headgate explain IDENTITY says why one job is held back.\n"
    "headgate log says who was held back when; headgate pause stops one job.\n";

const char* NameOf(TopOrder order) {
  switch (order) {
    case TopOrder::kDenied:
      return "most denied";
    case TopOrder::kWaited:
      return "longest waiting";
    case TopOrder::kName:
      break;
  }
  return "name";
}

std::string Header(const TopFrame& frame) {
  const TopAnswers& answers = frame.answers;
  const std::string waiting =
      answers.lines.waiting() == 0 ? "" : absl::StrCat(answers.lines.waiting(), " wait  ");
  return absl::StrCat("headgated ", Escaped(answers.status.version()), " at ", frame.look.address,
                      "  ", waiting, absl::FormatTime("%H:%M:%S ", answers.at, frame.look.zone),
                      ZoneText(frame.look.zone, {answers.at}));
}

std::string Footer(const TopFrame& frame, size_t lines, const Scroll& scroll) {
  if (frame.page == TopPage::kHelp) return "any key goes back";
  const std::string place =
      scroll.end() - scroll.first() == lines
          ? ""
          : absl::StrCat("lines ", scroll.first() + 1, "-", scroll.end(), " of ", lines, "  ");
  return absl::StrCat(place, "by ", NameOf(frame.look.order), "  d w n sort  ? help  q quit");
}

}  // namespace

std::string FrameText(const TopFrame& frame, const Screen::Size& size, Scroll& scroll) {
  const Colours colours = frame.look.colours;
  std::vector<std::string> lines = {Painted(Header(frame), Paint::kBold, colours)};
  if (!frame.trouble.empty()) {
    lines.push_back(absl::StrCat(Painted(Escaped(frame.trouble), Paint::kBad, colours),
                                 "; what follows is old"));
  }
  TopLook look = frame.look;
  look.columns = size.columns;
  const std::vector<std::string> body =
      frame.page == TopPage::kHelp ? LinesOf(kHelp) : TopBody(frame.answers, look);
  const size_t rows = size.rows - std::min(size.rows, lines.size() + 1);
  Scroll help;
  Scroll& shown = frame.page == TopPage::kHelp ? help : scroll;
  shown.Fit(body.size(), rows);
  for (size_t i = shown.first(); i < std::min(shown.end(), shown.first() + rows); ++i) {
    lines.push_back(body[i]);
  }
  lines.resize(std::max<size_t>(size.rows, 2) - 1);
  lines.push_back(Painted(Footer(frame, body.size(), shown), Paint::kDim, colours));
  lines.resize(std::min(lines.size(), size.rows));
  for (std::string& line : lines) line = Fitted(line, size.columns);
  return absl::StrJoin(lines, "\n");
}

}  // namespace headgate::cli
