#include "client/cli/output/field_words.h"

#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 31> kOptions = {{
    {"target", "--target"},
    {"estimated_cost", "--cost"},
    {"actual_cost", "--actual-cost"},
    {"busy_time", "--busy-time"},
    {"pattern", "--pattern"},
    {"tags", "--tag"},
    {"request_id", "--request-id"},
    {"max_wait", "--max-wait"},
    {"permit_id", "permit"},
    {"segment", "--segment"},
    {"everything", "--everything"},
    {"ratio", "--ratio"},
    {"expires_in", "--for"},
    {"expires_at", "--until"},
    {"expiry", "--for"},
    {"actor", "--actor"},
    {"reason", "--reason"},
    {"id", "override"},
    {"from", "--since"},
    {"to", "--until"},
    {"outcomes", "--outcome"},
    {"reasons", "--reason"},
    {"budgets", "--budget"},
    {"signals", "--signal"},
    {"group_by", "--by"},
    {"step", "--by step"},
    {"level", "--level"},
    {"min_denied_ratio", "--min-denied"},
    {"budget", "--budget"},
    {"tag_value", "--tag-value"},
    {"config_yaml", "--config"},
}};

// Letters, digits and what joins them in the name of a field: "check.tags[tenant]".
bool IsField(std::string_view text) {
  constexpr std::string_view kJoins = "._[]-\"'";
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && kJoins.find(c) == std::string_view::npos) return false;
  }
  return !text.empty();
}

}  // namespace

std::string InTheWordsOfOptions(std::string_view message) {
  constexpr std::string_view kUnnamed = "must be named, since several are configured: ";
  const size_t end = message.find(": ");
  if (end == std::string_view::npos || !IsField(message.substr(0, end))) {
    return std::string(message);
  }
  std::string_view field = message.substr(0, end);
  std::string_view what = message.substr(end + 2);
  for (const std::string_view prefix :
       {"check.", "selector.", "filter.", "request.", "reports[0].", "checks[0]."}) {
    if (field.starts_with(prefix)) field.remove_prefix(prefix.size());
  }
  std::string_view name = field.substr(0, field.find_first_of(".["));
  for (const auto& [known, option] : kOptions) {
    if (known == name) name = option;
  }
  if (name == "--target" && what.starts_with(kUnnamed)) {
    return absl::StrCat("--target is needed: ", Sv(what.substr(kUnnamed.size())));
  }
  std::string said =
      absl::StrReplaceAll(Sv(what), {{"filter.to", "--until"}, {"filter.from", "--since"}});
  // "override: override 7 is not in force".
  if (absl::StartsWith(said, Sv(name))) return said;
  return absl::StrCat(Sv(name), ": ", said);
}

}  // namespace headgate::cli
