// What of a target's health is worth a line of the log: a profile that is in another state, a
// server that does not answer, or does again, and what makes readings mean less than they seem to.
//
// What was told last is compared with every verdict. So a change that comes too soon after the line
// before is not lost: it is told later, unless it has passed by then. What is seen first is no
// change, but for a server that does not answer.
//
// Thread-compatible.
//
//   HealthChanges changes;
//   if (const auto before = changes.OfProfile("lag", health.status, now)) ... a line, with *before

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::health {

class HealthChanges {
 public:
  // Between two lines about the same profile or server, at least.
  static constexpr absl::Duration kBetween = absl::Seconds(10);

  // The state that was told last, if this one is to be told.
  std::optional<engine::HealthStatus> OfProfile(std::string_view profile,
                                                engine::HealthStatus status, Now now);
  // Whether a profile's gate is shut, and by which signal; of one that is open, none.
  struct Gate {
    bool shut = false;
    std::string signal = {};
    friend bool operator==(const Gate&, const Gate&) = default;
  };
  // How the gate was told to be last, if this is to be told: that it has shut, or by what else it
  // is shut than before, or that it is open again. One that is shut from the start is told.
  std::optional<Gate> OfGate(std::string_view profile, const Gate& gate, Now now);
  // Whether it is to be told that the server answers, or that it does not.
  bool OfServer(std::string_view server, bool answers, Now now);
  // Of what operators should mend, which is to be told: what is new, or came back.
  std::vector<std::string> OfNotes(const std::vector<std::string>& notes, Now now);

 private:
  template <typename State>
  struct Told {
    State state;
    std::optional<int64_t> at_ns = {};  // absent: there was no line yet
  };
  template <typename State>
  using ByName = std::map<std::string, Told<State>, std::less<>>;

  // The state before, if `state` is told now.
  template <typename State>
  static std::optional<State> Tell(ByName<State>& told, std::string_view name, State first,
                                   State state, Now now);

  ByName<engine::HealthStatus> profiles_;
  ByName<Gate> gates_;
  ByName<bool> servers_;
  ByName<bool> notes_;  // whether it is there
};

// As metrics and the documentation name it.
std::string_view NameOf(engine::HealthStatus status);

}  // namespace headgate::health
