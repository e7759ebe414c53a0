// One target's part of what an engine knows, handed from the server that decided for it to the one
// that does from now on.
//
// Saving keeps the order of engine_state.cc: permits that are out are marked, buckets are read,
// then those permits are that are still out; so a saved permit's charges are in the saved buckets,
// and its refund is not. Adopting writes into the ledgers that the policy has: the clocks, the
// rules and the other targets go on as they are.
//
// Thread-safe.
//
//   std::vector<absl::StatusOr<SavedTarget>> saved = TargetHandover(core).Save({"orders"}, now);

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/saved_target.h"

namespace headgate::engine {

// What the owner before may have admitted beyond what it saved.
enum class Unsaved : uint8_t { kNothing, kUpToBurst };

struct TargetAdoption {
  std::string_view target;
  const SavedTarget* saved = nullptr;  // null: the owner before saved nothing
  Unsaved unsaved = Unsaved::kNothing;
};

class TargetHandover {
 public:
  explicit TargetHandover(EngineCore& core) : core_(core) {}

  // What the next owner of each of these targets has to know, of a server that decides for some of
  // its targets only. In the order of the targets, none of which is named twice. The permits are
  // gone through once, however many targets there are. As EngineState::Save; nothing is to be
  // decided for a target meanwhile, or its next owner will not know of it. NotFound: there is no
  // such target.
  std::vector<absl::StatusOr<SavedTarget>> Save(absl::Span<const std::string> targets, Now now)
      ABSL_LOCKS_EXCLUDED(core_.install_mutex);
  // Goes on with a target where its owner before left it. Debts are
  // what they were then, as nobody knows for certain how much has drained since. What this engine
  // knew of the target itself is forgotten. kUpToBurst: every bucket may be full; so what is
  // admitted first is what drains from now on. Nothing is to be decided for the target meanwhile.
  // NotFound; InvalidArgument: no engine saved this, or not with this one's seed.
  absl::Status Adopt(const TargetAdoption& adoption, Now now)
      ABSL_LOCKS_EXCLUDED(core_.install_mutex);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
