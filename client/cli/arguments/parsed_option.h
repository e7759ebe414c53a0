// Options whose text becomes a value by a function of ours, with an error that says what is wrong.
//
// For arguments.cc and its *_options.cc alone: nothing else sees CLI11, or its exceptions.
//
//   AddParsed<double>(app, "--cost", "COST", cost, CostFromText, "what it will cost");

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {

[[noreturn]] inline void Refuse(const std::string& option, const std::string& what) {
  throw CLI::ValidationError(option, what);
}

// `value` is a T or an optional one.
template <typename T, typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& names, const std::string& type,
                       Value& value, std::function<absl::StatusOr<T>(const std::string&)> parse,
                       const std::string& help) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return app
      .add_option_function<std::string>(
          names,
          [name, &value, parse = std::move(parse)](const std::string& text) {
            const absl::StatusOr<T> parsed = parse(text);
            if (!parsed.ok()) Refuse(name, std::string(parsed.status().message()));
            value = *parsed;
          },
          help)
      ->type_name(type);
}

template <typename T>
CLI::Option* AddWord(CLI::App& app, const std::string& names, T& value,
                     std::vector<std::pair<std::string, T>> words, const std::string& help) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    absl::StrAppend(&known, known.empty() ? "" : "|", word);
  }
  const auto parse = [words = std::move(words),
                      known](const std::string& text) -> absl::StatusOr<T> {
    for (const auto& [word, meaning] : words) {
      if (word == text) return meaning;
    }
    return absl::InvalidArgumentError(absl::StrCat("'", Escaped(text), "' is not one of ", known));
  };
  return AddParsed<T>(app, names, known, value, parse, help);
}

}  // namespace headgate::cli
