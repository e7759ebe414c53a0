#include "client/cli/output/servers_text.h"

#include <algorithm>
#include <map>
#include <string>
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

// Of one that is here, whatever target it is about; empty: nothing.
std::string WithoutStates(const v1::MemberStatus& member) {
  if (!member.is_here()) return "";
  const auto offer =
      std::ranges::find_if(member.offers(), [](const auto& one) { return one.keeps_no_state(); });
  if (offer == member.offers().end()) return "";
  return absl::StrCat("CANNOT KEEP states", offer->why().empty() ? "" : ": ", offer->why());
}

Cell NoteOf(const v1::MemberStatus& member, bool is_asked) {
  if (!member.error().empty()) {
    return {absl::StrCat("DID NOT ANSWER: ", member.error()), Paint::kBad};
  }
  if (std::string note = WithoutStates(member); !note.empty()) return {note, Paint::kBad};
  return {is_asked ? "was asked" : "", Paint::kDim};
}

// Versions are known where all servers were asked, and not by what each sees of the others.
Table Members(const v1::ClusterStatus& cluster) {
  const bool has_versions =
      std::any_of(cluster.members().begin(), cluster.members().end(),
                  [](const v1::MemberStatus& member) { return !member.version().empty(); });
  Table table(Titles(has_versions ? "SERVER,STATE,>TARGETS,SEEN,ADDRESS,VERSION,NOTE"
                                  : "SERVER,STATE,>TARGETS,SEEN,ADDRESS,NOTE"));
  for (const v1::MemberStatus& member : cluster.members()) {
    std::vector<Cell> row = {{member.name()},
                             StateOf(member),
                             {absl::StrCat(member.targets())},
                             {absl::StrCat(ShortDuration(FromProto(member.seen_ago())), " ago")},
                             {member.address()}};
    if (has_versions) row.push_back({member.version()});
    row.push_back(NoteOf(member, member.name() == cluster.server()));
    table.Add(std::move(row));
  }
  return table;
}

const v1::MemberTarget* OfferOf(const v1::MemberStatus& member, const std::string& target) {
  for (const v1::MemberTarget& offer : member.offers()) {
    if (offer.target() == target) return &offer;
  }
  return nullptr;
}

std::string WhatIsWrong(const std::string& server, const v1::MemberTarget& offer) {
  if (offer.keeps_no_state()) return absl::StrCat(server, " CANNOT KEEP its state");
  const std::string why = offer.why().empty() ? "" : absl::StrCat(": ", offer.why());
  if (offer.measured() == v1::MemberTarget::MEASURED_NOTHING) {
    return absl::StrCat(server, " CANNOT MEASURE it", why);
  }
  if (offer.measured() == v1::MemberTarget::MEASURED_PARTLY) {
    return absl::StrCat(server, " measures a part of it", why);
  }
  return "";
}

// What keeps servers from having it, and by what their configurations of it are told apart.
std::string NoteOf(const v1::ClusterStatus& cluster, const std::string& target) {
  constexpr size_t kDigits = 8;  // of a hash: enough for so few
  std::map<std::string, std::vector<std::string>> by_configuration;
  std::vector<std::string> lacking;
  std::vector<std::string> notes;
  for (const v1::MemberStatus& member : cluster.members()) {
    if (!member.is_here() || member.says_no_targets()) continue;
    const v1::MemberTarget* const offer = OfferOf(member, target);
    if (offer == nullptr) {
      lacking.push_back(member.name());
      continue;
    }
    by_configuration[offer->configuration().substr(0, kDigits)].push_back(member.name());
    std::string wrong = WhatIsWrong(member.name(), *offer);
    if (!wrong.empty()) notes.push_back(std::move(wrong));
  }
  // A server that says nothing of any target, such as one of an earlier release, lacks none.
  if (by_configuration.empty()) return "";
  if (by_configuration.size() > 1) {
    std::vector<std::string> kinds;
    kinds.reserve(by_configuration.size());
    for (const auto& [configuration, servers] : by_configuration) {
      kinds.push_back(absl::StrCat(absl::StrJoin(servers, ", "), " ", configuration));
    }
    notes.insert(notes.begin(),
                 absl::StrCat("CONFIGURED DIFFERENTLY: ", absl::StrJoin(kinds, "; ")));
  }
  if (!lacking.empty()) {
    notes.push_back(absl::StrCat("not in the file of ", absl::StrJoin(lacking, ", ")));
  }
  return absl::StrJoin(notes, "; ");
}

// Who has lost the store does not know who decides.
const char* NameOfNobody(const v1::ClusterStatus& cluster) {
  return cluster.store_error().empty() ? "NOBODY" : "UNKNOWN";
}

Table Targets(const v1::ClusterStatus& cluster) {
  std::vector<std::string> notes;
  for (const v1::TargetOwner& target : cluster.targets()) {
    notes.push_back(NoteOf(cluster, target.target()));
  }
  const bool has_notes =
      std::any_of(notes.begin(), notes.end(), [](const auto& note) { return !note.empty(); });
  Table table(Titles(has_notes ? "TARGET,DECIDES,>OWNERS SO FAR,MOVED TO,NOTE"
                               : "TARGET,DECIDES,>OWNERS SO FAR,MOVED TO"));
  size_t place = 0;
  for (const v1::TargetOwner& target : cluster.targets()) {
    const bool is_owned = !target.owner().empty();
    std::vector<Cell> row = {
        {target.target()},
        is_owned ? Cell{target.owner()} : Cell{NameOfNobody(cluster), Paint::kBad},
        {absl::StrCat(target.generation())},
        {target.preferred()}};
    if (has_notes) row.push_back({notes[place], Paint::kWarn});
    ++place;
    table.Add(std::move(row));
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
  if (!cluster.store_note().empty()) {
    absl::StrAppend(&text, Painted("the store:", Paint::kWarn, colours), " ",
                    Escaped(cluster.store_note()), "\n");
  }
  if (cluster.decides_on()) {
    absl::StrAppend(&text, Escaped(cluster.server()),
                    " decides on for what it owns, as all servers that it knows agree\n");
  } else if (!cluster.not_agreeing().empty()) {
    absl::StrAppend(&text, Escaped(cluster.server()),
                    " decides for nothing once its leases have ended, without the agreement of ",
                    Escaped(absl::StrJoin(cluster.not_agreeing(), ", ")), "\n");
  }
  if (cluster.has_approximate()) {
    absl::StrAppend(&text, Escaped(cluster.server()), " decides ",
                    Painted("approximately", Paint::kWarn, colours),
                    " for what has no owner that it can reach: 1/", cluster.approximate().servers(),
                    " of each rate\n");
  }
  absl::StrAppend(&text, Members(cluster).Text(colours));
  const Table targets = Targets(cluster);
  if (!targets.empty()) absl::StrAppend(&text, "\n", targets.Text(colours));
  return text;
}

Table ServersCsv(const v1::ClusterStatus& cluster) {
  Table table(Titles(
      "kind,name,state,owner,targets,seen_ago_s,address,version,generation,moved_to,error,note"));
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
               {member.error()},
               {WithoutStates(member)}});
  }
  for (const v1::TargetOwner& target : cluster.targets()) {
    table.Add({{"target"},
               {target.target()},
               {target.owner().empty() ? NameOfNobody(cluster) : "owned"},
               {target.owner()},
               {},
               {},
               {},
               {},
               {absl::StrCat(target.generation())},
               {target.preferred()},
               {},
               {NoteOf(cluster, target.target())}});
  }
  return table;
}

}  // namespace headgate::cli
