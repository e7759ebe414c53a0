#include "client/cli/arguments/cluster_options.h"

#include <string>
#include <vector>

#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/arguments/usage_error.h"

namespace headgate::cli {
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
    if (to->count() > 0 && move.member.empty()) Refuse("--to", "it is empty");
    std::vector<std::string> missing;
    if (to->count() + anywhere->count() == 0) missing = {"--to", "headgate-1"};
    const bool no_server = !missing.empty();
    AddReason(move.who, "next to the database", missing);
    if (no_server) RefuseMissing("move", "takes --to MEMBER or --anywhere", missing);
    if (!missing.empty()) RefuseMissing("move", kNeedsReason, missing);
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
    std::vector<std::string> missing;
    AddReason(drain.who, "its node is replaced", missing);
    if (!missing.empty()) RefuseMissing(name, kNeedsReason, missing);
  });
  return command;
}

}  // namespace headgate::cli
