// Lowers this process, or one thread of it, to the rank of what runs when nobody else wants to.
//
// SCHED_IDLE where it may be had, else nice 19; and idle I/O, which counts where the disk's
// scheduler knows classes. What is started later inherits it. None of it takes a privilege, and
// some of it can't be taken back without one.
//
// Elsewhere than on Linux all of it is Unimplemented.
//
// Thread-safe.
//
//   absl::StatusOr<Rank> rank = LowerProcess();
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/scheduling/scheduling_group.h"

namespace headgate::scheduling {

// What was had.
struct Rank {
  bool is_idle_class = true;  // else nice 19
  bool is_idle_io = true;     // else it is as before

  friend bool operator==(const Rank&, const Rank&) = default;
};

// The calling thread. FailedPrecondition: it has a real-time policy, which is left as it is;
// PermissionDenied.
absl::StatusOr<Rank> LowerThread();

// All threads of this process, those included that begin meanwhile. Errors as of LowerThread, and
// FailedPrecondition where /proc does not show them.
absl::StatusOr<Rank> LowerProcess();

// The autogroup of a process, and so all of its session, to nice 19. The kernel takes ten such
// changes a second of those without CAP_SYS_ADMIN: `wait` is called before the next try.
absl::Status LowerAutogroup(int pid, absl::FunctionRef<void(absl::Duration)> wait);

// What became of a process, for people: "SCHED_IDLE, idle I/O, autogroup nice 19".
struct Lowered {
  enum class Autogroup : uint8_t {
    kNotAsked,  // there is none that counts
    kLowered,   // or was before
    kShared,    // with other processes of its session, so that it is left as it is
    kRefused,   // as `refusal` says
  };
  Rank rank = {};
  SchedulingGroup group = {};
  Autogroup autogroup = Autogroup::kNotAsked;
  absl::Status refusal = {};

  // False: others than those of its session don't go before it.
  bool Counts() const {
    return autogroup != Autogroup::kShared && autogroup != Autogroup::kRefused;
  }
};
std::string Describe(const Lowered& lowered);

}  // namespace headgate::scheduling
