// Numbers and waits as sentences have them.
//
// Pure functions.
//
//   absl::StrAppend(&text, Number(cost), " fits in ", ForAPerson(wait));

#pragma once

#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace headgate::engine {

inline std::string Number(double value) { return absl::StrFormat("%.6g", value); }

// Rounded up: a wait that is a little too long is of use, one that is too short is not.
inline std::string ForAPerson(absl::Duration wait) {
  const absl::Duration step = absl::Milliseconds(1);
  return absl::FormatDuration(wait > step ? absl::Ceil(wait, step) : wait);
}

}  // namespace headgate::engine
