#include "client/cli/status_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/proto_text.h"
#include "client/cli/text.h"
#include "client/cli/values.h"

namespace headgate::cli {
namespace {

constexpr double kBytesInMb = 1e6;

Cell Ago(bool present, const google::protobuf::Duration& age) {
  if (!present) return {"never", Paint::kWarn};
  return {absl::StrCat(ShortDuration(FromProto(age)), " ago")};
}

std::string DurationOrNothing(bool present, const google::protobuf::Duration& duration) {
  return present ? ShortDuration(FromProto(duration)) : "";
}

std::string ServerNote(const v1::ServerStatus& server) {
  if (!server.has_set_aside_until()) return server.error();
  return absl::StrCat("set aside until ", LocalTimeText(FromProto(server.set_aside_until())),
                      server.error().empty() ? "" : "; ", server.error());
}

}  // namespace

std::string ConfigText(const v1::ConfigStatus& config, Colours colours) {
  std::string text =
      absl::StrCat("configuration ", config.path().empty() ? "none" : Escaped(config.path()),
                   ", version ", config.version());
  if (config.has_loaded_at()) {
    absl::StrAppend(&text, ", loaded ", LocalTimeText(FromProto(config.loaded_at())));
  }
  absl::StrAppend(&text, "\n");
  if (!config.errors().empty()) {
    absl::StrAppend(&text, Painted("newest file REFUSED", Paint::kBad, colours),
                    config.has_refused_at()
                        ? absl::StrCat(" ", LocalTimeText(FromProto(config.refused_at())))
                        : "",
                    ":\n");
  }
  for (const std::string& error : config.errors()) {
    absl::StrAppend(&text, "  ", Escaped(error), "\n");
  }
  if (!config.pending_restart().empty()) {
    absl::StrAppend(&text, Painted("takes a restart:", Paint::kWarn, colours), " ",
                    Escaped(absl::StrJoin(config.pending_restart(), ", ")), "\n");
  }
  return text;
}

std::string ThrottleLogText(const v1::ThrottleLogStatus& log, Colours colours) {
  if (log.store().empty()) return "";
  std::string text = absl::StrCat(
      "throttle log in ", Escaped(log.store()), ", ",
      ShortNumber(static_cast<double>(log.bytes()) / kBytesInMb), " MB",
      log.has_oldest() ? absl::StrCat(" since ", LocalTimeText(FromProto(log.oldest()))) : "",
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

std::string SnapshotText(const v1::GetStatusResponse& status, Colours colours) {
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
                    LocalTimeText(FromProto(snapshot.restored_from())), "\n");
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

std::string TransportText(const v1::GetStatusResponse& status, Colours colours) {
  std::string text;
  if (status.has_tls()) {
    const v1::TlsStatus& tls = status.tls();
    absl::StrAppend(&text, "certificate ends ",
                    LocalTimeText(FromProto(tls.certificate_expires_at())), "\n");
    if (!tls.error().empty()) {
      absl::StrAppend(&text, Painted("newest certificates REFUSED:", Paint::kBad, colours), " ",
                      Escaped(tls.error()), "\n");
    }
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

Table Servers(const v1::TargetStatus& target) {
  Table table({{"SERVER"},
               {"STATE"},
               {"SAMPLED"},
               {"POLL TOOK", Align::kRight},
               {"EVERY", Align::kRight},
               {"NOTE"}});
  for (const v1::ServerStatus& server : target.servers()) {
    table.Add({{server.name()},
               {server.reachable() ? "reachable" : "UNREACHABLE",
                server.reachable() ? Paint::kGood : Paint::kBad},
               Ago(server.has_sample_age(), server.sample_age()),
               {DurationOrNothing(server.has_poll_time(), server.poll_time())},
               {DurationOrNothing(server.has_poll_interval(), server.poll_interval())},
               {ServerNote(server)}});
  }
  return table;
}

Table Signals(const v1::TargetStatus& target) {
  Table table({{"SIGNAL"}, {"VALUE", Align::kRight}, {"READ"}, {"ERROR"}});
  for (const v1::SignalStatus& signal : target.signals()) {
    table.Add(
        {{signal.name()},
         signal.has_value() ? Cell{ShortNumber(signal.value())} : Cell{"unknown", Paint::kBad},
         Ago(signal.has_age(), signal.age()),
         {signal.error()}});
  }
  return table;
}

Table Profiles(const v1::TargetStatus& target) {
  Table table({{"HEALTH"},
               {"STATE"},
               {"SPEED", Align::kRight},
               {"PRESSURE", Align::kRight},
               {"SAMPLED"},
               {"BINDING SIGNAL"}});
  for (const v1::Health& health : target.profiles()) {
    const Paint paint = PaintOf(health);
    table.Add({{health.profile()},
               {Word(health.state()), paint},
               {ShortNumber(health.speed()), paint},
               {ShortNumber(health.pressure()), paint},
               Ago(health.has_sample_age(), health.sample_age()),
               {health.signal()}});
  }
  return table;
}

Table Controllers(const v1::TargetStatus& target) {
  Table table({{"AUTO BUDGET"},
               {"MEASURING"},
               {"RATE FOUND", Align::kRight},
               {"FOREGROUND/s ALONE", Align::kRight},
               {"WITH BATCH", Align::kRight}});
  for (const v1::ControllerStatus& controller : target.controllers()) {
    table.Add({{controller.budget()},
               {controller.phase()},
               {ShortNumber(controller.rate())},
               {ShortNumber(controller.foreground_alone())},
               {ShortNumber(controller.foreground_with_batch())}});
  }
  return table;
}

}  // namespace headgate::cli
