// headgate members, move, drain and undrain: which server decides for which target.

#include <headgate/v1/cluster_service.grpc.pb.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/servers_text.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal_text.h"
#include "common/shell_words.h"

namespace headgate::cli {
namespace {

using MemberStub = v1::ClusterService::Stub;

// What was ordered is done by the servers themselves, as `members` shows.
struct Said {
  std::string ordered;
  std::vector<std::string> undo;  // the words of the command, but for the program and the reason
};

template <typename Request, typename Method>
int Order(const Globals& globals, const Console& console, const ActorArguments& who,
          Request request, Method method, const Said& said) {
  const absl::StatusOr<std::string> actor = ActorOf(who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  request.set_actor(*actor);
  request.set_reason(who.reason);
  const auto ordered = Connection(globals).Call(method, request);
  if (!ordered.ok()) return ToInt(console.Fail(WithActorHelp(ordered.status())));
  const auto csv = [&] {
    Table table(Titles("ordered"));
    table.Add({{said.ordered}});
    return table;
  };
  return console.Print(
      *ordered,
      [&] {
        return absl::StrCat("ordered: ", Escaped(said.ordered), "; headgate members shows it\n",
                            "to end it: headgate ", Escaped(ShellLine(said.undo)),
                            " --reason 'what has changed'", globals.connection, "\n");
      },
      csv);
}

}  // namespace

int RunMembers(const Globals& globals, const MembersArguments& /*arguments*/,
               const Console& console) {
  const absl::StatusOr<v1::ListMembersResponse> members =
      Connection(globals).Call(&MemberStub::ListMembers, v1::ListMembersRequest());
  if (!members.ok()) return ToInt(console.Fail(members.status()));
  return console.Print(
      *members, [&] { return ServersText(members->cluster(), console.colours); },
      [&] { return ServersCsv(members->cluster()); });
}

int RunMove(const Globals& globals, const MoveArguments& arguments, const Console& console) {
  v1::MoveTargetRequest request;
  request.set_target(arguments.target);
  request.set_member(arguments.member);
  const std::string said =
      arguments.member.empty()
          ? absl::StrCat("target ", arguments.target, " goes wherever it would be")
          : absl::StrCat("target ", arguments.target, " goes to ", arguments.member);
  return Order(globals, console, arguments.who, request, &MemberStub::MoveTarget,
               {said, {"move", arguments.target, "--anywhere"}});
}

int RunDrain(const Globals& globals, const DrainArguments& arguments, const Console& console) {
  if (arguments.action == DrainArguments::Action::kUndrain) {
    v1::UndrainMemberRequest request;
    request.set_member(arguments.member);
    return Order(
        globals, console, arguments.who, request, &MemberStub::UndrainMember,
        {absl::StrCat("server ", arguments.member, " decides again"), {"drain", arguments.member}});
  }
  v1::DrainMemberRequest request;
  request.set_member(arguments.member);
  return Order(globals, console, arguments.who, request, &MemberStub::DrainMember,
               {absl::StrCat("server ", arguments.member, " gives away what it decides for"),
                {"undrain", arguments.member}});
}

}  // namespace headgate::cli
