// What a fuzzer claims of every input. Pure, but that it ends the program where a claim fails.
//
//   Require(duration >= absl::ZeroDuration(), "a negative duration from ", text);

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace headgate::fuzz {

template <typename... Parts>
void Require(bool condition, const Parts&... parts) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", absl::CHexEscape(absl::StrCat(parts...)).c_str());
  std::abort();
}

inline bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// What is wrong with outside input is InvalidArgument, in one line that a terminal may show.
inline void RequireReadable(const absl::Status& status) {
  const std::string message(status.message());
  Require(absl::IsInvalidArgument(status), "not InvalidArgument: ", status.ToString());
  Require(!message.empty(), "an error without words");
  Require(!HasControl(message), "an error that is not one clean line: ", message);
}

}  // namespace headgate::fuzz
