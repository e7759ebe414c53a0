#include "client/cli/output/server_text.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {

std::string ConfigText(const v1::ConfigStatus& config, absl::TimeZone zone, Colours colours) {
  std::string text =
      absl::StrCat("configuration ", config.path().empty() ? "none" : Escaped(config.path()),
                   ", version ", config.version());
  if (config.has_loaded_at()) {
    absl::StrAppend(&text, ", loaded ", TimeText(FromProto(config.loaded_at()), zone));
  }
  absl::StrAppend(&text, "\n");
  if (!config.errors().empty()) {
    absl::StrAppend(&text, Painted("newest file REFUSED", Paint::kBad, colours),
                    config.has_refused_at()
                        ? absl::StrCat(" ", TimeText(FromProto(config.refused_at()), zone))
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

std::string StopsText(const v1::OverridesStatus& overrides, absl::TimeZone zone, Colours colours) {
  std::string text;
  for (const v1::Override& stop : overrides.stops()) {
    const std::string& target = stop.selector().target();
    const std::string line = absl::StrCat(
        "EVERYTHING", target.empty() ? "" : " on ", target,
        stop.kind() == v1::OVERRIDE_KIND_THROTTLE
            ? absl::StrCat(" IS THROTTLED by ", ShortNumber(100 * stop.ratio()), " % ")
            : " IS PAUSED ",
        stop.has_expires_at() ? absl::StrCat("until ", TimeText(FromProto(stop.expires_at()), zone))
                              : "until it is ended",
        " by ", stop.actor(), ": ", stop.reason(), " (override ", stop.id(), ")");
    absl::StrAppend(&text, Painted(Escaped(line), Paint::kBad, colours), "\n");
  }
  return text;
}

Cell Ago(bool present, const google::protobuf::Duration& age) {
  if (!present) return {"never", Paint::kWarn};
  return {absl::StrCat(ShortDuration(FromProto(age)), " ago")};
}

Table Profiles(const v1::TargetStatus& target) {
  Table table(Titles("HEALTH,STATE,>SPEED,>PRESSURE,SAMPLED,BINDING SIGNAL"));
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

namespace {

// Of the foreground, as far as there is one.
Cell Seen(double transactions, const v1::ControllerStatus& controller) {
  if (transactions > 0) return {ShortNumber(transactions)};
  return controller.effects().empty() ? Cell{""} : Cell{"?", Paint::kDim};
}

// "-2.1 +-0.6 %": what batch work does to the foreground in one respect. What binds stands out.
Cell EffectOn(std::string_view kind, const v1::ControllerStatus& controller) {
  for (const v1::ForegroundEffect& effect : controller.effects()) {
    if (effect.kind() != kind) continue;
    if (!effect.known()) return {"?", Paint::kDim};
    return {absl::StrFormat("%s%.1f +-%.1f %%", kind == "throughput" ? "-" : "+",
                            100 * effect.effect(), 100 * effect.uncertainty()),
            effect.binds() ? Paint::kWarn : Paint::kPlain};
  }
  return {""};
}

}  // namespace

Table Controllers(const v1::TargetStatus& target) {
  Table table(
      Titles("AUTO BUDGET,PHASE,>RATE FOUND/s,>FOREGROUND/s ALONE,>WITH BATCH,>THROUGHPUT,>LATENCY,"
             ">TAIL,BECAUSE"));
  for (const v1::ControllerStatus& controller : target.controllers()) {
    table.Add({{controller.budget()},
               {controller.phase()},
               {Amount(controller.rate(), v1::BUDGET_UNIT_BUSY_TIME)},
               Seen(controller.foreground_alone(), controller),
               Seen(controller.foreground_with_batch(), controller),
               EffectOn("throughput", controller),
               EffectOn("latency", controller),
               EffectOn("tail", controller),
               {controller.explanation()}});
  }
  return table;
}

}  // namespace headgate::cli
