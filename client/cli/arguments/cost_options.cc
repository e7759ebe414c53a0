#include "client/cli/arguments/cost_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parsed_option.h"

namespace headgate::cli {
namespace {

constexpr char kForgetExample[] =
    "; for example: headgate costs forget job-7:etl --reason 'reported bytes as rows'";
constexpr char kForgiveExample[] =
    "; for example: headgate forgive job-7:etl --budget rows --reason 'reported bytes as rows'";

void RequireForget(const ForgetCostsArguments& forget) {
  if (forget.identity.empty() == forget.pattern.empty()) {
    Refuse("costs forget", absl::StrCat("takes an identity, whose root's costs are forgotten, or "
                                        "--pattern PATTERN",
                                        kForgetExample));
  }
  if (forget.who.reason.empty()) {
    Refuse("costs forget", absl::StrCat("needs --reason, for whoever asks later", kForgetExample));
  }
}

void RequireForgive(const ForgiveArguments& forgive) {
  if (forgive.budget.empty()) {
    Refuse("forgive", absl::StrCat("needs --budget, the one to which the debt is owed; `headgate "
                                   "explain` shows them",
                                   kForgiveExample));
  }
  if (forgive.who.reason.empty()) {
    Refuse("forgive", absl::StrCat("needs --reason, for whoever asks later", kForgiveExample));
  }
}

}  // namespace

CostsCommands AddCosts(CLI::App& app, CostsArguments& list, ForgetCostsArguments& forget) {
  CostsCommands commands;
  commands.list = app.add_subcommand("costs", "Show what was learnt of work's cost and busy time");
  commands.list->add_option("identity", list.identity,
                            "only what work of this identity is predicted with");
  commands.list->add_option("--pattern", list.pattern, "only this pattern")->type_name("PATTERN");
  commands.forget =
      commands.list->add_subcommand("forget", "Forget it, so that predictions begin anew");
  commands.forget->add_option("identity", forget.identity,
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
  command->add_option("identity", forgive.identity, "whose bucket")->required();
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
