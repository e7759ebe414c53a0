#include "server/observe/control/control_explanation.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/share_text.h"

namespace headgate::control {
namespace {

// "2.1 ± 0.6 % of its throughput are lost, of 5 % that may be".
std::string Describe(Harm harm, const HarmView& view) {
  const double effect = 100 * view.expected, uncertainty = 100 * view.uncertainty;
  const double tolerance = 100 * view.tolerance;
  switch (harm) {
    case Harm::kThroughput:
      return absl::StrFormat("it costs the foreground %.1f ± %.1f %% of its throughput, of %g %%",
                             effect, uncertainty, tolerance);
    case Harm::kLatency:
      return absl::StrFormat("it makes its statements %.1f ± %.1f %% longer on average, of %g %%",
                             effect, uncertainty, tolerance);
    case Harm::kTail:
      return absl::StrFormat(
          "it makes the deviation of its statements' times %.1f ± %.1f %% larger, of %g %%", effect,
          uncertainty, tolerance);
  }
  return "";
}

// The limit that is next, where W is below it.
std::string Nearest(const ControlSetting& setting) {
  const HarmView& view = setting.harms[static_cast<size_t>(setting.binding)];
  if (!view.known) return "nothing is known yet";
  return absl::StrCat(NameOf(setting.binding),
                      " is the nearest limit: ", Describe(setting.binding, view),
                      " that are tolerated");
}

std::string WhatBinds(const ControlSetting& setting) {
  switch (setting.phase) {
    case ControlPhase::kRest:
      return "nobody asks";
    case ControlPhase::kIdle:
      return "there is no foreground, and max_rate is the limit";
    case ControlPhase::kBlind:
      return "the database cannot be sampled, so next to nothing is let through";
    case ControlPhase::kPause:
    case ControlPhase::kWork:
      break;
  }
  if (setting.foreground == Foreground::kSparse) {
    return setting.yields ? "the foreground is too sparse to be measured, and they yield to it"
                          : "the foreground is too sparse to be measured, and half a core is left "
                            "to it";
  }
  const HarmView& view = setting.harms[static_cast<size_t>(setting.binding)];
  if (!setting.held_back) return absl::StrCat("less is used than it allows; ", Nearest(setting));
  if (setting.at_most) return absl::StrCat("max_rate is the limit; ", Nearest(setting));
  if (!view.known) return "nothing is known yet, and it is raised step by step";
  if (!setting.at_limit) return absl::StrCat("it is raised step by step; ", Nearest(setting));
  return absl::StrCat(NameOf(setting.binding), " binds: ", Describe(setting.binding, view),
                      " that are tolerated");
}

// What jobs do that makes the rate worse than it could be.
std::string WhatJobsDo(const ControlSetting& setting) {
  std::string text;
  if (setting.long_chunk > 0) {
    absl::StrAppendFormat(
        &text,
        "; chunks take %.1f s each, and the next one waits until the last "
        "is worked off: make them smaller; with an estimate, chunk_scale says by how much",
        setting.long_chunk);
  }
  if (setting.understated) {
    absl::StrAppend(
        &text,
        "; Reports say far less busy time than sessions of batch_work are seen at work, "
        "so what passes between answer and Report counts");
  }
  if (setting.misses_batch) {
    absl::StrAppend(&text,
                    "; no session of batch_work was ever seen at work, so that jobs' own work is "
                    "taken off the foreground's by guess, and the times of statements are not "
                    "known: are these the roles that jobs log in with?");
  }
  return text;
}

}  // namespace

bool HasForeground(const ControlSetting& setting) {
  return setting.phase == ControlPhase::kWork || setting.phase == ControlPhase::kPause;
}

const char* NameOf(ControlPhase phase) {
  switch (phase) {
    case ControlPhase::kRest:
      return "rest";
    case ControlPhase::kIdle:
      return "idle";
    case ControlPhase::kPause:
      return "pause";
    case ControlPhase::kWork:
      return "work";
    case ControlPhase::kBlind:
      return "blind";
  }
  return "";
}

const char* NameOf(Harm harm) {
  switch (harm) {
    case Harm::kThroughput:
      return "throughput";
    case Harm::kLatency:
      return "latency";
    case Harm::kTail:
      return "tail";
  }
  return "";
}

std::vector<health::EffectSnapshot> EffectsOf(const ControlSetting& setting) {
  std::vector<health::EffectSnapshot> effects;
  if (!HasForeground(setting)) return effects;
  for (size_t i = 0; i < kHarms; ++i) {
    const auto harm = static_cast<Harm>(i);
    const HarmView& view = setting.harms[i];
    effects.push_back({.kind = NameOf(harm),
                       .effect = view.expected,
                       .uncertainty = view.uncertainty,
                       .tolerance = view.tolerance,
                       .known = view.known,
                       .binds = harm == setting.binding && view.known});
  }
  return effects;
}

std::string Explain(const ControlSetting& setting, std::string_view missing,
                    std::string_view note) {
  // Where there is a foreground, to whom they yield.
  std::string text = setting.yields && HasForeground(setting)
                         ? "sessions yield the processor, and it is how many of them run at once; "
                         : "";
  text += WhatBinds(setting);
  if (!missing.empty()) {
    absl::StrAppend(&text, "; times of statements and the work of readers are not seen: ",
                    std::string(missing));
  }
  if (!note.empty()) absl::StrAppend(&text, "; ", std::string(note));
  absl::StrAppend(&text, WhatJobsDo(setting));
  return text;
}

std::string ExplainSpeed(std::string_view profile, double speed) {
  if (speed <= 0) return absl::StrFormat("health profile '%s' lets nothing through; ", profile);
  if (speed >= 1) return "";
  return absl::StrFormat("health profile '%s' slows it to %s; ", profile, RoundShareText(speed));
}

}  // namespace headgate::control
