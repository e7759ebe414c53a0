#include "client/cli/arguments/help.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/arguments/reference_options.h"

namespace headgate::cli {
namespace {

constexpr size_t kNameColumns = 30;
constexpr size_t kTextColumns = 50;

const std::map<std::string, std::vector<std::string>>& Examples() {
  static const auto* const all = new std::map<std::string, std::vector<std::string>>{
      {"", {"headgate status", "headgate top", "headgate explain job-7:etl"}},
      {"check", {"headgate check job-7:etl --cost 500", "headgate check job-7:etl --wait 10m"}},
      {"report", {"headgate report 4711", "headgate report 4711 --actual-cost 480"}},
      {"explain",
       {"headgate explain job-7:etl", "headgate explain job-7:etl --cost 500 --tag tenant=acme"}},
      {"run", {"headgate run --identity vacuum:maintenance -- psql -c 'VACUUM orders'"}},
      {"status", {"headgate status", "headgate status --target orders"}},
      {"rules", {"headgate rules"}},
      {"leases", {"headgate leases", "headgate leases job-7:etl"}},
      {"top", {"headgate top", "headgate top --once"}},
      {"config", {"headgate config check headgate.yaml"}},
      {"config check", {"headgate config check headgate.yaml"}},
      {"log",
       {"headgate log", "headgate log job-7:etl --since yesterday --until today",
        "headgate log --since '2026-11-27 07:00' --until 07:25 --reason health",
        "headgate log --top --since 7d"}},
      {"replay", {"headgate replay --config new.yaml --since 1d"}},
      {"pause",
       {"headgate pause job-7:etl --for 2h --reason 'stuck shard'",
        "headgate pause --everything --target orders --for 30m --reason 'disk full'"}},
      {"throttle", {"headgate throttle job-7:etl --ratio 80% --for 2h --reason 'stuck shard'"}},
      {"exempt", {"headgate exempt restore --for 2h --reason 'restore of orders'"}},
      {"resume",
       {"headgate resume job-7:etl --reason 'shard is back'",
        "headgate resume job-7:etl --for 1h --reason 'this one is fine'"}},
      {"overrides",
       {"headgate overrides", "headgate overrides --events --since yesterday",
        "headgate overrides delete 7 --reason 'shard is back'"}},
      {"overrides delete", {"headgate overrides delete 7 --reason 'shard is back'"}},
      {"costs", {"headgate costs job-7:etl"}},
      {"costs forget", {"headgate costs forget job-7:etl --reason 'reported bytes as rows'"}},
      {"forgive", {"headgate forgive job-7:etl --budget rows --reason 'reported bytes as rows'"}},
      {"members", {"headgate members"}},
      {"move", {"headgate move orders --to headgate-1 --reason 'next to the database'"}},
      {"drain", {"headgate drain headgate-1 --reason 'its node is replaced'"}},
      {"undrain", {"headgate undrain headgate-1 --reason 'it is back'"}},
      {"store", {"headgate store check --dsn 'host=db dbname=headgate'"}},
      {"completion", {"headgate completion bash"}},
      {"agent", {"headgate agent --batch role=etl,application_name=backfill*"}},
  };
  return *all;
}

const CLI::App& ProgramOf(const CLI::App& command) {
  const CLI::App* app = &command;
  while (app->get_parent() != nullptr) app = app->get_parent();
  return *app;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(Formatter::make_option_desc(option), kTextColumns);
  }
  // Which options exclude each other is said where both are given.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = Formatter::make_option_opts(option);
    return text.substr(0, text.find(" Excludes:"));
  }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_subcommands(app, mode);
    const CLI::App& program = ProgramOf(*app);
    if (app == &program) return text;
    const auto options = program.get_options([&program](const CLI::Option* option) {
      return option != program.get_help_ptr() && option->get_name() != "--version" &&
             option->nonpositional();
    });
    return text + make_group("Options of all commands", false, options);
  }
};

void AddExamplesBelow(CLI::App& app) {
  std::string footer;
  if (const std::vector<std::string> examples = ExamplesOf(CommandName(app)); !examples.empty()) {
    footer = absl::StrCat("Examples:\n  ", absl::StrJoin(examples, "\n  "), "\n\n");
  }
  app.footer(absl::StrCat(footer, ExitStatusText()));
  for (CLI::App* command : app.get_subcommands({})) AddExamplesBelow(*command);
}

}  // namespace

std::string Wrapped(std::string_view text, size_t columns) {
  std::string lines;
  while (text.size() > columns) {
    size_t end = text.rfind(' ', columns);
    if (end == std::string_view::npos || end == 0) {
      end = text.find_last_of("|,", columns - 1);
      if (end == std::string_view::npos) break;
      ++end;
    }
    absl::StrAppend(&lines, std::string(text.substr(0, end)), "\n");
    text.remove_prefix(text[end] == ' ' ? end + 1 : end);
  }
  return absl::StrCat(lines, std::string(text));
}

void FormatHelp(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

void AddExamples(CLI::App& app) { AddExamplesBelow(app); }

std::string CommandName(const CLI::App& command) {
  std::string name;
  for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent()) {
    name = absl::StrCat(app->get_name(), name.empty() ? "" : " ", name);
  }
  return name;
}

std::vector<std::string> ExamplesOf(const std::string& command) {
  const auto found = Examples().find(command);
  return found == Examples().end() ? std::vector<std::string>() : found->second;
}

}  // namespace headgate::cli
