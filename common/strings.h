// Small helpers for text.
//
// Debian builds Abseil with its own string_view, which is a different type from std::string_view.
// `Sv` hands one over to the other at an Abseil call:
//
//   absl::StrCat("unknown budget ", Sv(name));
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace headgate {

inline absl::string_view Sv(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

}  // namespace headgate
