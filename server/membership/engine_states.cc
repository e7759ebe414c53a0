#include "server/membership/engine_states.h"

#include <algorithm>

#include "server/snapshot/target_format.h"

namespace headgate::membership {
namespace {

using Unsaved = engine::Engine::Unsaved;

bool IsEmpty(const engine::SavedTarget& saved) {
  return saved.permits.empty() &&
         std::ranges::all_of(saved.debts, [](const engine::SavedDebts& debts) {
           return debts.owed_ns == 0 && debts.table.buckets.empty();
         });
}

}  // namespace

absl::Status EngineStates::Adopt(std::string_view target, cluster::Takeover takeover,
                                 const std::optional<cluster::StoredState>& state) {
  const Unsaved unsaved =
      takeover == cluster::Takeover::kLearning ? Unsaved::kUpToBurst : Unsaved::kNothing;
  // A copy of which nothing was owed has no bytes.
  if (!state.has_value() || state->whole.empty()) {
    return engine_.AdoptTarget(target, nullptr, unsaved, clock_.Read());
  }
  const absl::StatusOr<engine::SavedTarget> saved = snapshot::DecodeTarget(state->whole);
  absl::Status adopted = saved.status();
  if (saved.ok()) adopted = engine_.AdoptTarget(target, &*saved, unsaved, clock_.Read());
  if (adopted.ok() || absl::IsNotFound(adopted)) return adopted;
  on_unreadable_(target, adopted);
  return engine_.AdoptTarget(target, nullptr, Unsaved::kUpToBurst, clock_.Read());
}

absl::StatusOr<std::string> EngineStates::Copy(std::string_view target) {
  engine::SavedTarget saved;
  absl::Status copied = engine_.SaveTarget(target, clock_.Read(), saved);
  if (!copied.ok()) return copied;
  return IsEmpty(saved) ? std::string() : snapshot::EncodeTarget(saved);
}

void EngineStates::Forget(std::string_view target) {
  // A target that the configuration does not have any more is forgotten already.
  (void)engine_.AdoptTarget(target, nullptr, Unsaved::kNothing, clock_.Read());
}

}  // namespace headgate::membership
