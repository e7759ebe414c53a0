// HealthSink: who is told what a target's health is.
//
// Implementations: the composition root, which hands it to Engine::SetHealth; in tests, a recorder.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::health {

class HealthSink {
 public:
  virtual ~HealthSink() = default;

  // Called from several threads, but for one target by one at a time and in order. It must be quick
  // and must not call the monitor back.
  virtual void OnHealth(std::string_view target, std::string_view profile,
                        const engine::Health& health, Now now) = 0;

  // The same for each server that was polled, before the verdicts: how its newest poll ended.
  virtual void OnServer(std::string_view /*target*/, std::string_view /*server*/,
                        const absl::Status& /*newest*/, Now /*now*/) {}

  // And what operators should mend so that readings mean what they say: all of it, each once.
  virtual void OnNotes(std::string_view /*target*/, const std::vector<std::string>& /*notes*/,
                       Now /*now*/) {}
  // And what is worth knowing of its connection, in words; empty: nothing.
  virtual void OnNote(std::string_view /*target*/, std::string_view /*server*/,
                      const std::string& /*note*/) {}
};

}  // namespace headgate::health
