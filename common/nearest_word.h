// NearestWord: which known word was meant where one was mistyped.
//
// Pure; thread-safe.
//
//   NearestWord("stauts", {"status", "store"})  // "status"
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace headgate {

// By how many letters have to be put in, left out, changed or swapped with the next one (optimal
// string alignment, Damerau 1964). Absent where that is more than a third of the word.
std::optional<std::string> NearestWord(std::string_view word, absl::Span<const std::string> known);

}  // namespace headgate
