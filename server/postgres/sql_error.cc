#include "server/postgres/sql_error.h"

#include <cctype>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"

namespace headgate::postgres {
namespace {

absl::StatusCode CodeOf(std::string_view sqlstate) {
  if (sqlstate.starts_with("28") || sqlstate == "42501") return absl::StatusCode::kPermissionDenied;
  if (sqlstate == "57014") return absl::StatusCode::kDeadlineExceeded;
  for (const std::string_view missing : {"0A", "22", "25", "3D", "3F", "42", "55"}) {
    if (sqlstate.starts_with(missing)) return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kUnavailable;
}

bool IsSqlState(std::string_view text) {
  if (text.size() != 5) return false;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && (c < 'A' || c > 'Z')) return false;
  }
  return true;
}

// "FATAL:  28P01: password authentication failed", whatever language FATAL is in.
std::string_view SqlStateIn(std::string_view message) {
  constexpr std::string_view kBefore = ":  ";
  for (size_t at = message.find(kBefore); at != std::string_view::npos;
       at = message.find(kBefore, at + 1)) {
    const std::string_view state = message.substr(at + kBefore.size(), 5);
    if (IsSqlState(state) && message.substr(at + kBefore.size() + 5).starts_with(": ")) {
      return state;
    }
  }
  return "";
}

}  // namespace

absl::Status SqlError(std::string_view sqlstate, std::string_view message) {
  if (sqlstate.empty()) return absl::UnavailableError(Sv(message));
  return absl::Status(CodeOf(sqlstate), absl::StrCat(Sv(message), " (", Sv(sqlstate), ")"));
}

absl::Status ConnectError(const std::string& message) {
  std::vector<std::string> lines;
  // The last line of each message is where in PostgreSQL's source it was raised.
  for (absl::string_view line : absl::StrSplit(message, '\n', absl::SkipWhitespace())) {
    const bool is_location = line.find(".c:") != absl::string_view::npos;
    if (!is_location) lines.emplace_back(line);
  }
  const std::string_view sqlstate = SqlStateIn(message);
  return absl::Status(
      sqlstate.empty() ? absl::StatusCode::kUnavailable : CodeOf(sqlstate),
      lines.empty() ? "the connection failed for no known reason" : absl::StrJoin(lines, "; "));
}

}  // namespace headgate::postgres
