// What completion for all shells is made of: which words are commands, which options take a value,
// and what that may be.
//
// A pattern is a place and a word, "log:--since", as the scripts' case statements compare them. The
// program's own options may stand anywhere: "*:--address".
//
// Pure functions; thread-safe.

#pragma once

#include <string>
#include <vector>

#include "common/reference/program.h"

namespace headgate::reference {

// Options whose value is completed in the same way.
struct Values {
  std::vector<std::string> patterns;
  std::vector<std::string> words;
  Files files = Files::kNone;
};

struct CompletionTable {
  std::vector<Place> places;
  std::vector<std::string> commands;  // patterns: "overrides:delete"
  std::vector<std::string> valued;    // patterns of options that take a value
  std::vector<std::string>
      runs;                    // patterns of "--", after which a command of somebody else's stands
  std::vector<Values> values;  // where something is known of it
};

CompletionTable TableOf(const Command& root);

// "a|'b c:d'": as bash and zsh write the patterns of a case. A pattern that no word has where there
// is none.
std::string CasePatterns(const std::vector<std::string>& patterns);

}  // namespace headgate::reference
