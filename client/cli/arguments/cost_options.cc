#include "client/cli/arguments/cost_options.h"

#include <string>
#include <vector>

#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/arguments/usage_error.h"

namespace headgate::cli {
namespace {

void RequireForget(const ForgetCostsArguments& forget) {
  constexpr char kWhose[] =
      "takes an identity, whose root's costs are forgotten, or --pattern PATTERN";
  if (!forget.identity.empty() && !forget.pattern.empty()) Refuse("costs forget", kWhose);
  std::vector<std::string> missing;
  if (forget.identity.empty() && forget.pattern.empty()) missing.emplace_back("job-7:etl");
  const bool no_one = !missing.empty();
  AddReason(forget.who, "reported bytes as rows", missing);
  if (no_one) RefuseMissing("costs forget", kWhose, missing);
  if (!missing.empty()) RefuseMissing("costs forget", kNeedsReason, missing);
}

void RequireForgive(const ForgiveArguments& forgive) {
  std::vector<std::string> missing;
  if (forgive.budget.empty()) missing = {"--budget", "rows"};
  const bool no_budget = !missing.empty();
  AddReason(forgive.who, "reported bytes as rows", missing);
  if (no_budget) {
    RefuseMissing(
        "forgive",
        "needs --budget, the one to which the debt is owed; `headgate explain` shows them",
        missing);
  }
  if (!missing.empty()) RefuseMissing("forgive", kNeedsReason, missing);
}

}  // namespace

CostsCommands AddCosts(CLI::App& app, CostsArguments& list, ForgetCostsArguments& forget) {
  CostsCommands commands;
  commands.list = app.add_subcommand("costs", "Show what was learnt of work's cost and busy time");
  commands.list->add_option("identity,--identity", list.identity,
                            "only what work of this identity is predicted with");
  commands.list->add_option("--pattern", list.pattern, "only this pattern")->type_name("PATTERN");
  commands.forget =
      commands.list->add_subcommand("forget", "Forget it, so that predictions begin anew");
  commands.forget->add_option("identity,--identity", forget.identity,
                              "everything that was learnt of its root");
  commands.forget->add_option("--pattern", forget.pattern, "this pattern, whoever taught it")
      ->type_name("PATTERN");
  AddWho(*commands.forget, forget.who);
  commands.forget->callback([&forget] { RequireForget(forget); });
  return commands;
}

CLI::App* AddForgive(CLI::App& app, ForgiveArguments& forgive) {
  CLI::App* command =
      app.add_subcommand("forgive", "Empty the bucket that an identity's work is charged to");
  command->add_option("identity,--identity", forgive.identity, "whose bucket")->required();
  command->add_option("--budget", forgive.budget, "to which the debt is owed")->type_name("NAME");
  command
      ->add_option("--tag-value", forgive.tag_value,
                   "which bucket, where the budget is split by a tag")
      ->type_name("VALUE");
  AddWho(*command, forgive.who);
  command->callback([&forgive] { RequireForgive(forgive); });
  return command;
}

}  // namespace headgate::cli
