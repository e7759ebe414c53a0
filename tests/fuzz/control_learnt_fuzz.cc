// What a controller learnt, from any text: refused in one clean line, or sound. Then it is written
// as it was read, and a controller goes on from it within its bounds.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "server/decide/engine/saved_state.h"
#include "server/observe/control/controller.h"
#include "server/observe/control/learnt_control.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::control::Controller;
using headgate::control::ControlSample;
using headgate::control::ControlSetting;
using headgate::control::LearntControl;
using headgate::control::ToText;
using headgate::fuzz::Require;

// A busy foreground, and one who asks all the time.
ControlSetting Look(Controller& controller, int sample) {
  ControlSample seen;
  seen.work.sampled_at_ns = 1'000'000'000 + int64_t{400'000'000} * sample;
  seen.work.next_xid = 1000 + 500 * sample;
  seen.work.foreground_active = 4;
  seen.checks = static_cast<uint64_t>(sample);
  seen.transactions = static_cast<uint64_t>(sample);
  seen.busy_seconds = 0.01 * sample;
  return controller.Step(seen);
}

void GoOnFrom(const LearntControl& learnt, double age) {
  constexpr double kMaxRate = 8;
  Controller controller({.cores = 4, .max_rate = kMaxRate});
  controller.Restore(learnt, age);
  for (int sample = 0; sample < 12; ++sample) {
    const ControlSetting setting = Look(controller, sample);
    Require(setting.rate >= 0.01 && setting.rate <= kMaxRate, "a rate of ", setting.rate);
    for (const auto& harm : setting.harms) {
      Require(std::isfinite(harm.expected) && std::isfinite(harm.uncertainty), "harm is unknown");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<LearntControl> learnt = headgate::control::ParseLearntControl(text);
  if (!learnt.ok()) {
    headgate::fuzz::RequireReadable(learnt.status());
    return 0;
  }
  Require(text.size() <= headgate::engine::kMaxControlBytes, "more than the engine carries");
  Require(ToText(*learnt) == text, "read as something else");
  for (const double age : {0.0, 10.0, learnt->SecondsUntil(2'000'000'000'000'000'000)}) {
    GoOnFrom(*learnt, age);
  }
  return 0;
}
