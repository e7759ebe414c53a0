#include "client/cli/status/status_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/agent_text.h"
#include "client/cli/output/lease_text.h"
#include "client/cli/output/line_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/server_text.h"
#include "client/cli/output/servers_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

constexpr double kBytesInMb = 1e6;

std::string DurationOrNothing(bool present, const google::protobuf::Duration& duration) {
  return present ? ShortDuration(FromProto(duration)) : "";
}

std::string ServerNote(const v1::ServerStatus& server, absl::TimeZone zone) {
  std::vector<std::string> notes;
  if (server.has_set_aside_until()) {
    notes.push_back(
        absl::StrCat("set aside until ", TimeText(FromProto(server.set_aside_until()), zone)));
  }
  for (const std::string& text : {server.error(), server.note()}) {
    if (!text.empty()) notes.push_back(text);
  }
  return absl::StrJoin(notes, "; ");
}

// Where the throttle log is kept, and what keeps it from being complete.
std::string ThrottleLogText(const v1::ThrottleLogStatus& log, absl::TimeZone zone,
                            Colours colours) {
  if (log.store().empty()) return "";
  std::string text = absl::StrCat(
      "throttle log in ", Escaped(log.store()), ", ",
      ShortNumber(static_cast<double>(log.bytes()) / kBytesInMb), " MB",
      log.has_oldest() ? absl::StrCat(" since ", TimeText(FromProto(log.oldest()), zone)) : "",
      "; counts written ", log.rows_written(), ", waiting ", log.rows_buffered(), "\n");
  if (!log.error().empty()) {
    absl::StrAppend(&text, Painted("throttle log CANNOT BE WRITTEN:", Paint::kBad, colours), " ",
                    Escaped(log.error()), "\n");
  }
  if (!log.set_aside().empty()) {
    absl::StrAppend(&text,
                    Painted("throttle log was damaged, and begun anew;", Paint::kBad, colours),
                    " the old one is ", Escaped(log.set_aside()), "\n");
  }
  if (!log.note().empty()) {
    absl::StrAppend(&text, Painted("throttle log:", Paint::kWarn, colours), " ",
                    Escaped(log.note()), "\n");
  }
  if (log.dropped_checks() > 0) {
    absl::StrAppend(&text, Painted("missing from the log:", Paint::kBad, colours), " ",
                    log.dropped_checks(), " Checks\n");
  }
  if (log.folded_checks() > 0) {
    absl::StrAppend(&text,
                    Painted("counted under a level above their identity:", Paint::kWarn, colours),
                    " ", log.folded_checks(), " Checks\n");
  }
  return text;
}

std::string HolderText(const v1::PermitHolder& holder) {
  if (holder.name().empty()) return "many others together";
  return absl::StrCat(holder.is_caller() ? "caller " : "", Escaped(holder.name()));
}

// Who has the permits, and who was refused one.
std::string PermitsText(const v1::PermitsStatus& permits, Colours colours) {
  constexpr int kMost = 5;
  std::string have;
  std::string refused;
  for (int i = 0; i < permits.holders_size(); ++i) {
    const v1::PermitHolder& holder = permits.holders(i);
    const auto add = [&](int64_t count, std::string& to) {
      if (count == 0) return;
      absl::StrAppend(&to, to.empty() ? "" : ", ", HolderText(holder), " ", count);
    };
    if (i < kMost) add(holder.permits(), have);
    add(holder.turned_away(), refused);
  }
  std::string text;
  if (!have.empty()) {
    absl::StrAppend(&text, "most permits: ", have, "; another could come to ",
                    permits.most_for_one(), " of ", permits.capacity(), "\n");
  }
  if (permits.turned_away() > 0) {
    absl::StrAppend(&text, Painted("turned away for want of a permit:", Paint::kBad, colours), " ",
                    permits.turned_away(), " Checks", refused.empty() ? "" : ", of ", refused,
                    "\n");
  }
  if (permits.without_permit() > 0) {
    absl::StrAppend(&text, Painted("charged without a permit:", Paint::kWarn, colours), " ",
                    permits.without_permit(), " Checks, whose holders had their share\n");
  }
  return text;
}

std::string OverridesText(const v1::GetStatusResponse& status, Colours colours) {
  if (!status.has_overrides()) return "";
  const v1::OverridesStatus& overrides = status.overrides();
  std::string text = absl::StrCat("overrides in force: ", overrides.in_force(), "\n");
  if (!overrides.error().empty()) {
    absl::StrAppend(&text, Painted("overrides CANNOT BE WRITTEN:", Paint::kBad, colours), " ",
                    Escaped(overrides.error()), "\n");
  }
  return text;
}

std::string SnapshotText(const v1::GetStatusResponse& status, absl::TimeZone zone,
                         Colours colours) {
  if (!status.has_snapshot()) return "";
  const v1::SnapshotStatus& snapshot = status.snapshot();
  std::string text = absl::StrCat(
      "kept for a restart in ", Escaped(snapshot.path()), ", ",
      ShortNumber(static_cast<double>(snapshot.bytes()) / kBytesInMb), " MB, as of ",
      snapshot.has_age() ? absl::StrCat(ShortDuration(FromProto(snapshot.age())), " ago") : "never",
      "\n");
  if (snapshot.has_restored_from()) {
    absl::StrAppend(&text, "restored at start: permits ", snapshot.restored_permits(),
                    ", buckets that owe ", snapshot.restored_buckets(), ", as of ",
                    TimeText(FromProto(snapshot.restored_from()), zone), "\n");
  }
  if (!snapshot.error().empty()) {
    absl::StrAppend(&text, Painted("a restart would lose what is owed:", Paint::kBad, colours), " ",
                    Escaped(snapshot.error()), "\n");
  }
  if (!snapshot.refused().empty()) {
    absl::StrAppend(&text, Painted("what was kept was REFUSED at start:", Paint::kBad, colours),
                    " it ", Escaped(snapshot.refused()));
    if (!snapshot.set_aside().empty()) {
      absl::StrAppend(&text, "; it is now ", Escaped(snapshot.set_aside()));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// Until when the server's certificate is good, why newer tokens are not in force, and callers that
// found no room.
std::string TransportText(const v1::GetStatusResponse& status, absl::TimeZone zone,
                          Colours colours) {
  std::string text;
  if (status.has_tls()) {
    const v1::TlsStatus& tls = status.tls();
    absl::StrAppend(&text, "certificate ends ",
                    TimeText(FromProto(tls.certificate_expires_at()), zone), "\n");
    if (!tls.error().empty()) {
      absl::StrAppend(&text, Painted("newest certificates REFUSED:", Paint::kBad, colours), " ",
                      Escaped(tls.error()), "\n");
    }
  }
  absl::StrAppend(&text, status.has_access()
                             ? "access is on\n"
                             : "access is off: everybody who reaches the port may do everything\n");
  for (const std::string& warning : status.warnings()) {
    absl::StrAppend(&text, Painted("warning:", Paint::kBad, colours), " ", Escaped(warning), "\n");
  }
  for (const std::string& warning : status.config().warnings()) {
    absl::StrAppend(&text, Painted("warning:", Paint::kWarn, colours), " ", Escaped(warning), "\n");
  }
  for (const auto error : absl::StrSplit(status.access().error(), '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, Painted("newest tokens REFUSED:", Paint::kBad, colours), " ",
                    Escaped({error.data(), error.size()}), "\n");
  }
  const v1::ConnectionStatus& connections = status.connections();
  const int64_t turned_away = connections.refused() + connections.failed();
  if (turned_away > 0) {
    absl::StrAppend(&text, Painted("connections turned away:", Paint::kBad, colours), " ",
                    turned_away, "; open ", connections.open(), " of ", connections.most(), "\n");
  }
  return text;
}

Table Servers(const v1::TargetStatus& target, absl::TimeZone zone) {
  Table table(Titles("SERVER,STATE,SAMPLED,>POLL TOOK,>EVERY,NOTE"));
  for (const v1::ServerStatus& server : target.servers()) {
    table.Add({{server.name()},
               {server.reachable() ? "reachable" : "UNREACHABLE",
                server.reachable() ? Paint::kGood : Paint::kBad},
               Ago(server.has_sample_age(), server.sample_age()),
               {DurationOrNothing(server.has_poll_time(), server.poll_time())},
               {DurationOrNothing(server.has_poll_interval(), server.poll_interval())},
               {ServerNote(server, zone)}});
  }
  return table;
}

Table Signals(const v1::TargetStatus& target) {
  Table table(Titles("SIGNAL,>VALUE,READ,ERROR"));
  for (const v1::SignalStatus& signal : target.signals()) {
    table.Add(
        {{signal.name()},
         signal.has_value() ? Cell{ShortNumber(signal.value())} : Cell{"unknown", Paint::kBad},
         Ago(signal.has_age(), signal.age()),
         {signal.error()}});
  }
  return table;
}

}  // namespace

std::string StatusText(const v1::GetStatusResponse& status, const std::string& address,
                       absl::TimeZone zone, Colours colours) {
  std::string text = absl::StrCat("headgated ", Escaped(status.version()), " at ", address);
  if (status.has_started_at()) {
    const absl::Time started = FromProto(status.started_at());
    absl::StrAppend(&text, ", started ", TimeText(started, zone), "; times are ",
                    ZoneText(zone, {started}));
  }
  absl::StrAppend(&text, "\n", StopsText(status.overrides(), zone, colours),
                  ConfigText(status.config(), zone, colours), "permits outstanding ",
                  status.permits_outstanding(), "; buckets owing ", status.buckets_owing(), " of ",
                  status.buckets_capacity(), ", evicted while owing ", status.live_evictions(),
                  "\n", PermitsText(status.permits(), colours), WaitingText(status, colours),
                  ThrottleLogText(status.throttle_log(), zone, colours),
                  OverridesText(status, colours), SnapshotText(status, zone, colours),
                  TransportText(status, zone, colours));
  if (status.has_cluster()) absl::StrAppend(&text, "\n", ServersText(status.cluster(), colours));
  const Table lines = Lines(status.waiting().longest());
  if (!lines.empty()) absl::StrAppend(&text, "\n", lines.Text(colours));
  for (const v1::TargetStatus& target : status.targets()) {
    const std::string name =
        target.name().empty() ? "target without a name" : absl::StrCat("target ", target.name());
    absl::StrAppend(&text, "\n", Painted(Escaped(name), Paint::kBold, colours), "\n");
    if (target.has_condition()) {
      absl::StrAppend(&text, "  ", ConditionText(target.condition(), colours), "\n");
    }
    if (target.servers().empty()) absl::StrAppend(&text, "  nothing is measured\n");
    for (const Table& table :
         {Servers(target, zone), Signals(target), Profiles(target), Controllers(target)}) {
      if (!table.empty()) absl::StrAppend(&text, table.Text(colours, "  "));
    }
    absl::StrAppend(&text, LeasesText(target, colours, "  "), AgentText(target, colours, "  "));
  }
  return text;
}

}  // namespace headgate::cli
