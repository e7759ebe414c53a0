// What is said of wrong usage: which part of which command is wrong, and the command as it was
// typed with what is missing, to be copied.
//
// For arguments.cc and its *_options.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace headgate::cli {

// Thrown where an option is missing that only we know to be needed.
class MissingError final : public CLI::ValidationError {
 public:
  MissingError(const std::string& command, const std::string& what, std::vector<std::string> words)
      : ValidationError(command, what), words_(std::move(words)) {}
  // That make the command complete.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

[[noreturn]] void RefuseMissing(const std::string& command, const std::string& what,
                                std::vector<std::string> words);

// In one line. `words` are those that were parsed.
std::string UsageErrorText(const CLI::App& app, const CLI::Error& error,
                           const std::vector<std::string>& words);

}  // namespace headgate::cli
