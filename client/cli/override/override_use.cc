#include "client/cli/override/override_use.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/connection/selector_use.h"
#include "client/cli/output/override_words.h"
#include "client/cli/output/terminal_text.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

bool IsThereSomebody() { return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

bool SaysYes(const std::string& question, const Console& console) {
  console.out.flush();
  console.err << "headgate: " << Escaped(question) << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  return answer == "y" || answer == "yes";
}

}  // namespace

bool GoesOnIfUnused(Connection& connection, const v1::CreateOverrideRequest& request, Asking asking,
                    const Console& console) {
  const SelectorUse use =
      FindUse(connection, request.selector(),
              {.now = SystemClock::ReadKernel().wall(), .within = absl::Hours(1)});
  if (use.is_used) return true;
  const std::string verb = VerbText(request.kind());
  if (asking == Asking::kNever || !IsThereSomebody()) {
    console.Complain(absl::StrCat("warning: ", use.Sentence()));
    return true;
  }
  if (SaysYes(absl::StrCat(use.Sentence(), use.nearest.empty() ? ";" : "", " ", verb, " ",
                           use.selector, " all the same?"),
              console)) {
    return true;
  }
  console.Complain("nothing has changed");
  return false;
}

}  // namespace headgate::cli
