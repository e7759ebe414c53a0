// What a program is called with, as plain data: its commands, options and what they mean.
//
// Read from the definitions that the program parses its arguments with, so that whatever is made of
// it says the same as
// --help.
//
// Plain data; thread-compatible.

#pragma once

#include <string>
#include <vector>

namespace headgate::reference {

enum class Files { kNone, kFile, kFolder };

// An option, or an argument that has its place instead of a name.
struct Option {
  std::vector<std::string> names;  // "-o", "--output"; of an argument none
  std::string value;               // "DURATION", "table|json|csv"; empty: a flag
  std::string help;
  std::string variable;            // of the environment, that stands in for it
  std::string default_value;       // where the help does not say it
  std::vector<std::string> words;  // that the value may be, where they are known
  Files files = Files::kNone;
  bool is_required = false;
};

struct Command {
  std::string name;
  std::string help;
  std::vector<Option> arguments;
  std::vector<Option> options;
  std::vector<Command> commands;
  bool takes_command = false;  // someone else's, after "--"
  bool needs_command = false;  // one of those below it
};

// A word and what it means.
struct Term {
  std::string word;
  std::string meaning;
};

struct Program {
  Command root;
  std::string version;
  int section = 1;  // of the manual
  std::string summary;
  std::vector<Term> exit_statuses;
  std::vector<Term> examples;
  std::vector<Term> variables;  // that no option speaks of
  std::vector<Term> files;
  std::vector<std::string> see_also;  // "headgated(8)"
};

// A command by its whole name, with its options, and those of the command above it where that is
// nothing by itself. The program has an empty path; its options may stand anywhere, and are in its
// place alone.
struct Place {
  std::string path;  // "overrides delete"
  const Command* command = nullptr;
  std::vector<const Option*> options;
};

// In the order of the definitions, each before those below it.
std::vector<Place> PlacesOf(const Command& root);

// All environment variables, and what each stands in for.
std::vector<Term> VariablesOf(const Program& program);

}  // namespace headgate::reference
