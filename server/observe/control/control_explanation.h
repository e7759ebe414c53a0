// What a controller has found, in words and for status pages.
//
//   std::string sentence = Explain(setting, missing, note);

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/observe/control/controller.h"
#include "server/observe/health/snapshot.h"

namespace headgate::control {

const char* NameOf(ControlPhase phase);
const char* NameOf(Harm harm);

// Empty where there is no foreground.
std::vector<health::EffectSnapshot> EffectsOf(const ControlSetting& setting);

// Whether what the foreground does alone and beside batch work is of now.
bool HasForeground(const ControlSetting& setting);

// What keeps the rate from being higher, and what cannot be seen. `missing` says why there are no
// statement statistics, `note` what makes them worse than they could be; either may be empty.
std::string Explain(const ControlSetting& setting, std::string_view missing, std::string_view note);

// What comes before that where health slows a budget down: its sentence with "; ", or nothing.
std::string ExplainSpeed(std::string_view profile, double speed);

}  // namespace headgate::control
