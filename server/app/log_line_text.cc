#include "server/app/log_line_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace headgate::app {
namespace {

// Backslashes and quotes first: those of escapes are not doubled.
std::string Shown(std::string_view text) {
  std::string escaped =
      EscapeHarmful(absl::StrReplaceAll(Sv(text), {{"\\", "\\\\"}, {"\"", "\\\""}, {"'", "\\'"}}));
  if (escaped == text && !text.empty() && text.find(' ') == std::string_view::npos) return escaped;
  return absl::StrCat("\"", escaped, "\"");
}

}  // namespace

std::string TextLine(std::string_view event, LogFields fields) {
  std::string line(event);
  for (const auto& [key, value] : fields) absl::StrAppend(&line, " ", Sv(key), "=", Shown(value));
  return line;
}

}  // namespace headgate::app
