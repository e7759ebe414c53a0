// NearestWord: which known word somebody may have meant who wrote another one.
//
// Pure; thread-safe.
//
//   NearestWord("stauts", {"status", "store"})  // "status"
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace headgate {

// Few letters away, capitals not counted: a third of the word's at most (optimal string alignment,
// Damerau 1964). Empty if none resembles it; words of more than 64 bytes resemble nothing.
std::string NearestWord(std::string_view word, absl::Span<const std::string> known);

}  // namespace headgate
