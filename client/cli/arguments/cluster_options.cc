#include "client/cli/arguments/cluster_options.h"

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parsed_option.h"

namespace headgate::cli {
namespace {

void RequireReason(const char* command, const ActorArguments& who, const char* example) {
  if (!who.reason.empty()) return;
  Refuse(command,
         absl::StrCat("needs --reason, for whoever asks later; for example: headgate ", example));
}

}  // namespace

CLI::App* AddMembers(CLI::App& app) {
  return app.add_subcommand("members", "Show the servers, and which decides for which target");
}

CLI::App* AddMove(CLI::App& app, MoveArguments& move) {
  CLI::App* command = app.add_subcommand("move", "Have another server decide for a target");
  command->add_option("target", move.target, "the target's name")->required();
  CLI::Option* to = command->add_option("--to", move.member, "the server that shall decide for it");
  to->type_name("MEMBER");
  CLI::Option* anywhere = command->add_flag_callback(
      "--anywhere", [&move] { move.member.clear(); },
      "wherever it would be: end what was ordered before");
  to->excludes(anywhere);
  AddWho(*command, move.who);
  command->callback([&move, to, anywhere] {
    constexpr char kExample[] = "move orders --to headgate-1 --reason 'next to the database'";
    if (to->count() + anywhere->count() == 0) {
      Refuse("move",
             absl::StrCat("takes --to MEMBER or --anywhere; for example: headgate ", kExample));
    }
    if (to->count() > 0 && move.member.empty()) Refuse("--to", "it is empty");
    RequireReason("move", move.who, kExample);
  });
  return command;
}

CLI::App* AddDrain(CLI::App& app, DrainArguments& drain) {
  const bool begins = drain.action == DrainArguments::Action::kDrain;
  const char* const name = begins ? "drain" : "undrain";
  CLI::App* command =
      app.add_subcommand(name, begins ? "Have a server decide for nothing, and be given nothing"
                                      : "Have a server that was drained decide again");
  command->add_option("member", drain.member, "the server's name")->required();
  AddWho(*command, drain.who);
  command->callback([&drain, name] {
    RequireReason(name, drain.who, "drain headgate-1 --reason 'its node is replaced'");
  });
  return command;
}

}  // namespace headgate::cli
