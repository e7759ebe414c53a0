#include "server/share/membership/engine_states.h"

#include <algorithm>

#include "server/remember/snapshot/target_format.h"

namespace headgate::membership {
namespace {

using Unsaved = engine::Engine::Unsaved;

bool IsEmpty(const engine::SavedTarget& saved) {
  return saved.permits.empty() && saved.control.empty() &&
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

std::vector<absl::StatusOr<std::string>> EngineStates::Copy(absl::Span<const std::string> targets) {
  std::vector<absl::StatusOr<std::string>> copies;
  for (const absl::StatusOr<engine::SavedTarget>& saved :
       engine_.SaveTargets(targets, clock_.Read())) {
    if (!saved.ok()) {
      copies.emplace_back(saved.status());
    } else {
      copies.emplace_back(IsEmpty(*saved) ? std::string() : snapshot::EncodeTarget(*saved));
    }
  }
  return copies;
}

void EngineStates::Forget(std::string_view target) {
  // A target that the configuration does not have any more is forgotten already.
  (void)engine_.AdoptTarget(target, nullptr, Unsaved::kNothing, clock_.Read());
}

}  // namespace headgate::membership
