#include "client/cli/output/servers_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

Cell StateOf(const v1::MemberStatus& member) {
  if (!member.is_here()) return {"GONE", Paint::kBad};
  if (member.is_leaving()) return {"leaving", Paint::kWarn};
  if (member.is_drained()) return {"drained", Paint::kWarn};
  return {"here", Paint::kGood};
}

// Versions are known where all servers were asked, and not by what each sees of the others.
Table Members(const v1::ClusterStatus& cluster) {
  const bool has_versions =
      std::any_of(cluster.members().begin(), cluster.members().end(),
                  [](const v1::MemberStatus& member) { return !member.version().empty(); });
  Table table(Titles(has_versions ? "SERVER,STATE,>TARGETS,SEEN,ADDRESS,VERSION,NOTE"
                                  : "SERVER,STATE,>TARGETS,SEEN,ADDRESS,NOTE"));
  for (const v1::MemberStatus& member : cluster.members()) {
    const bool is_asked = member.name() == cluster.server();
    const Cell note = member.error().empty()
                          ? Cell{is_asked ? "was asked" : "", Paint::kDim}
                          : Cell{absl::StrCat("DID NOT ANSWER: ", member.error()), Paint::kBad};
    std::vector<Cell> row = {{member.name()},
                             StateOf(member),
                             {absl::StrCat(member.targets())},
                             {absl::StrCat(ShortDuration(FromProto(member.seen_ago())), " ago")},
                             {member.address()}};
    if (has_versions) row.push_back({member.version()});
    row.push_back(note);
    table.Add(std::move(row));
  }
  return table;
}

Table Targets(const v1::ClusterStatus& cluster) {
  Table table(Titles("TARGET,DECIDES,>OWNERS SO FAR,MOVED TO"));
  for (const v1::TargetOwner& target : cluster.targets()) {
    const bool is_owned = !target.owner().empty();
    table.Add({{target.target()},
               is_owned ? Cell{target.owner()} : Cell{"NOBODY", Paint::kBad},
               {absl::StrCat(target.generation())},
               {target.preferred()}});
  }
  return table;
}

}  // namespace

std::string ServersText(const v1::ClusterStatus& cluster, Colours colours) {
  std::string text;
  if (cluster.name_is_taken()) {
    absl::StrAppend(&text, Painted("two servers have one name:", Paint::kBad, colours),
                    " another process is ", Escaped(cluster.server()),
                    ", so this one decides for nothing\n");
  }
  if (!cluster.store_error().empty()) {
    absl::StrAppend(&text, Painted("the store DOES NOT ANSWER:", Paint::kBad, colours), " ",
                    Escaped(cluster.store_error()), ", for ",
                    ShortDuration(FromProto(cluster.store_since())), "\n");
  }
  if (cluster.decides_on()) {
    absl::StrAppend(&text, Escaped(cluster.server()),
                    " decides on for what it owns, as all servers that it knows agree\n");
  } else if (!cluster.not_agreeing().empty()) {
    absl::StrAppend(&text, Escaped(cluster.server()),
                    " decides for nothing once its leases have ended, without the agreement of ",
                    Escaped(absl::StrJoin(cluster.not_agreeing(), ", ")), "\n");
  }
  absl::StrAppend(&text, Members(cluster).Text(colours));
  const Table targets = Targets(cluster);
  if (!targets.empty()) absl::StrAppend(&text, "\n", targets.Text(colours));
  return text;
}

Table ServersCsv(const v1::ClusterStatus& cluster) {
  Table table(
      Titles("kind,name,state,owner,targets,seen_ago_s,address,version,generation,moved_to,error"));
  for (const v1::MemberStatus& member : cluster.members()) {
    table.Add({{"server"},
               {member.name()},
               {StateOf(member).text},
               {},
               {absl::StrCat(member.targets())},
               {Seconds(member.has_seen_ago(), member.seen_ago())},
               {member.address()},
               {member.version()},
               {},
               {},
               {member.error()}});
  }
  for (const v1::TargetOwner& target : cluster.targets()) {
    table.Add({{"target"},
               {target.target()},
               {target.owner().empty() ? "NOBODY" : "owned"},
               {target.owner()},
               {},
               {},
               {},
               {},
               {absl::StrCat(target.generation())},
               {target.preferred()}});
  }
  return table;
}

}  // namespace headgate::cli
