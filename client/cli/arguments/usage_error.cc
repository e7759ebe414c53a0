#include "client/cli/arguments/usage_error.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/arguments/help.h"
#include "common/nearest_word.h"
#include "common/shell_words.h"

namespace headgate::cli {
namespace {

// What stands for an argument in a sentence, and in an example.
struct Sample {
  const char* what;
  std::vector<std::string> words;
};
std::optional<Sample> SampleOf(const std::string& option) {
  static const auto* const all = new std::map<std::string, Sample>{
      {"identity", {"an identity", {"job-7:etl"}}},
      {"permit", {"the number of a permit", {"4711"}}},
      {"id", {"the number of an override", {"7"}}},
      {"target", {"a target", {"orders"}}},
      {"member", {"the name of a server", {"headgate-1"}}},
      {"file", {"a file", {"headgate.yaml"}}},
      {"--identity", {"--identity", {"--identity", "job-7:etl"}}},
      {"--config", {"--config, the other configuration", {"--config", "new.yaml"}}},
  };
  const auto found = all->find(option);
  if (found == all->end()) return std::nullopt;
  return found->second;
}

// The command that was named, as deep as it was.
const CLI::App& Named(const CLI::App& app) {
  const CLI::App* command = &app;
  for (;;) {
    const std::vector<CLI::App*> below = command->get_subcommands();
    if (below.empty()) return *command;
    command = below[0];
  }
}

std::vector<std::string> NamesBelow(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// "; did you mean status?".
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

std::string Seen(const CLI::App& command) {
  const std::string name = CommandName(command);
  return absl::StrCat("; see headgate ", name, name.empty() ? "" : " ", "--help");
}

// The words with these ones behind the command's name, or at the end if they are options.
std::string Completed(const CLI::App& command, std::vector<std::string> words,
                      const std::vector<std::string>& more) {
  auto at = words.end();
  if (!more.empty() && !more[0].starts_with('-')) {
    at = words.begin();
    for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent()) {
      const auto found = std::find(words.begin(), words.end(), app->get_name());
      if (found != words.end()) at = std::max(at, found + 1);
    }
  }
  words.insert(at, more.begin(), more.end());
  words.insert(words.begin(), "headgate");
  return absl::StrCat("; for example: ", ShellLine(words));
}

std::string NoOption(const CLI::App& program, const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* app : {&command, &program}) {
    for (const CLI::Option* option : app->get_options()) known.push_back(option->get_name());
  }
  const std::string name = word.substr(0, word.find('='));
  return absl::StrCat(CommandName(command).empty() ? "headgate" : CommandName(command),
                      " has no option ", name, DidYouMean(name, known));
}

std::string UnknownWord(const CLI::App& program, const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) return NoOption(program, command, word);
  const std::vector<std::string> below = NamesBelow(command);
  const std::string name = CommandName(command);
  if (!below.empty()) {
    return absl::StrCat("there is no command ", name, name.empty() ? "" : " ", word,
                        DidYouMean(word, below));
  }
  return absl::StrCat(name, ": '", word, "' is one word too many");
}

std::string NoCommand(const CLI::App& command) {
  const std::string name = CommandName(command);
  if (name.empty()) return "a command is needed, such as headgate status or headgate top";
  return absl::StrCat(name, ": takes a command: ", absl::StrJoin(NamesBelow(command), ", "));
}

// "--cost: 1 required COST missing".
std::string NoValue(const CLI::Error& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  return absl::StrCat(option, text.ends_with(" missing") ? ": needs a value" : ": is given twice");
}

std::string Required(const CLI::App& command, const CLI::Error& error,
                     const std::vector<std::string>& words) {
  std::string text = error.what();
  const std::string option = text.substr(0, text.find(" is required"));
  // It may be a positional argument that has a long name as well.
  std::string argument = option;
  for (const CLI::Option* known : command.get_options()) {
    if (known->get_name() == option && known->get_positional()) argument = known->get_name(true);
  }
  const std::optional<Sample> sample = SampleOf(argument);
  if (!sample) return text;
  const std::string name = CommandName(command);
  const std::vector<std::string> examples = ExamplesOf(name);
  const bool is_bare = absl::StrJoin(words, " ") == name && !examples.empty();
  return absl::StrCat(name, ": needs ", sample->what,
                      is_bare ? absl::StrCat("; for example: ", examples[0])
                              : Completed(command, words, sample->words));
}

}  // namespace

void RefuseMissing(const std::string& command, const std::string& what,
                   std::vector<std::string> words) {
  throw MissingError(command, what, std::move(words));
}

std::string UsageErrorText(const CLI::App& app, const CLI::Error& error,
                           const std::vector<std::string>& words) {
  const CLI::App& command = Named(app);
  const std::string see = Seen(command);
  // What is not known may be why another thing is missing.
  for (const std::string& word : app.remaining(true)) {
    const bool is_unknown = word.starts_with('-') ||
                            dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                            CommandName(command).empty();
    if (is_unknown && word != "--") return UnknownWord(app, command, word) + see;
  }
  if (const auto* missing = dynamic_cast<const MissingError*>(&error)) {
    return absl::StrCat(error.what(), Completed(command, words, missing->words()), see);
  }
  const std::string what = error.what();
  if (error.get_name() == "RequiredError") {
    const bool is_command = what.find("subcommand") != std::string::npos;
    return (is_command ? NoCommand(command) : Required(command, error, words)) + see;
  }
  if (error.get_name() == "ArgumentMismatch") return NoValue(error) + see;
  if (error.get_name() == "ExcludesError") {
    return absl::StrReplaceAll(what, {{" excludes ", " does not go with "}}) + see;
  }
  return what + see;
}

}  // namespace headgate::cli
