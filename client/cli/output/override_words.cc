#include "client/cli/output/override_words.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/share_text.h"
#include "common/shell_words.h"

namespace headgate::cli {

std::string KindText(v1::OverrideKind kind) {
  return v1::OverrideKind_Name(kind).substr(std::strlen("OVERRIDE_KIND_"));
}

std::string VerbText(v1::OverrideKind kind) { return absl::AsciiStrToLower(KindText(kind)); }

bool Throttles(const v1::Override& override) {
  return override.kind() == v1::OVERRIDE_KIND_THROTTLE;
}

std::string What(const v1::Override& override) {
  return absl::StrCat(KindText(override.kind()), Throttles(override) ? " " : "",
                      Throttles(override) ? ShareText(override.ratio()) : "");
}

// "paused", "throttled by 80 %", ...
std::string DoneText(const v1::Override& override) {
  switch (override.kind()) {
    case v1::OVERRIDE_KIND_PAUSE:
      return "paused";
    case v1::OVERRIDE_KIND_THROTTLE:
      return absl::StrCat("throttled by ", ShareText(override.ratio()));
    case v1::OVERRIDE_KIND_EXEMPT:
      return "exempted";
    default:
      return "resumed";
  }
}

bool IsStop(const v1::Override& override) {
  return override.selector().everything() &&
         (override.kind() == v1::OVERRIDE_KIND_PAUSE || Throttles(override));
}

std::string SelectorText(const v1::Selector& selector) {
  if (selector.everything()) {
    return absl::StrCat("everything", selector.target().empty() ? "" : " on ", selector.target());
  }
  return absl::StrCat(selector.has_segment() ? "segment " : "",
                      selector.has_segment() ? selector.segment() : selector.identity(),
                      selector.target().empty() ? "" : " on ", selector.target());
}

std::string Mention(const v1::Override& override) {
  return absl::StrCat("override ", override.id(), " on ", SelectorText(override.selector()), " (",
                      DoneText(override), " by ", override.actor(), ": ", override.reason(), ")");
}

std::string UndoText(const v1::Override& override, const std::string& connection) {
  const std::string& target = override.selector().target();
  // A target's name is YAML's and may have blanks.
  const std::string order =
      IsStop(override)
          ? absl::StrCat("resume --everything",
                         target.empty() ? "" : absl::StrCat(" --target ", ShellWord(target)))
          : absl::StrCat("overrides delete ", override.id());
  return absl::StrCat("headgate ", order, " --reason 'what has changed'", connection);
}

}  // namespace headgate::cli
