// EngineStates: the targets of an engine, as they come and go.
//
// What is unreadable, or was saved by a server with another secret, is not adopted: then more may
// have been admitted than anybody knows, as after a crash, and the target starts with full buckets:
// nothing is admitted until they have drained.
//
// Belongs to one thread.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/share/membership/target_states.h"

namespace headgate::membership {

class EngineStates : public TargetStates {
 public:
  // Told of states that could not be read, and why.
  using OnUnreadable = std::function<void(std::string_view target, const absl::Status& why)>;

  // Both outlive this.
  EngineStates(engine::Engine& engine, Clock& clock, OnUnreadable on_unreadable)
      : engine_(engine), clock_(clock), on_unreadable_(std::move(on_unreadable)) {}

  absl::Status Adopt(std::string_view target, cluster::Takeover takeover,
                     const std::optional<cluster::StoredState>& state) override;
  std::vector<absl::StatusOr<std::string>> Copy(absl::Span<const std::string> targets) override;
  void Forget(std::string_view target) override;

 private:
  engine::Engine& engine_;
  Clock& clock_;
  const OnUnreadable on_unreadable_;
};

}  // namespace headgate::membership
