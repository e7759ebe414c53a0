#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/remember/snapshot/atomic_file.h"
#include "server/remember/snapshot/snapshot_writer.h"

namespace headgate::snapshot {
namespace {

constexpr int64_t kDayNs = 86'400'000'000'000;

// It was read, and is no snapshot of ours. All else is the system's matter: the file may be sound.
bool IsRefusal(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status) ||
         absl::IsInvalidArgument(status);
}

}  // namespace

absl::StatusOr<int64_t> ElapsedSince(Now saved_at, const BootId& saved_boot, Now now,
                                     const BootId& boot) {
  // Far apart they would overflow.
  const absl::Duration by_wall = now.wall() - saved_at.wall();
  if (by_wall < -absl::Nanoseconds(kDayNs)) {
    return absl::FailedPreconditionError(
        absl::StrCat("was written ", absl::FormatDuration(-by_wall),
                     " from now by this machine's clock: in the future"));
  }
  int64_t elapsed_ns = absl::ToInt64Nanoseconds(by_wall);
  if (boot == saved_boot && boot != BootId{}) {
    elapsed_ns = std::min(elapsed_ns, now.monotonic_ns - saved_at.monotonic_ns);
  }
  return std::max<int64_t>(elapsed_ns, 0);
}

void Refuse(const std::string& path, const absl::Status& why, Loaded& loaded) {
  loaded.state.reset();
  loaded.refused = why;
  const absl::StatusOr<std::string> aside = SetAside(path);
  if (aside.ok()) loaded.set_aside = *aside;
}

Loaded Load(const std::string& path, Now now) {
  Loaded loaded;
  const absl::StatusOr<std::string> bytes = Read(path);
  if (absl::IsNotFound(bytes.status())) return loaded;
  if (!bytes.ok() && !IsRefusal(bytes.status())) {
    loaded.unreadable = bytes.status();
    return loaded;
  }
  absl::StatusOr<Decoded> decoded = bytes.ok() ? Decode(*bytes) : bytes.status();
  const absl::StatusOr<int64_t> elapsed =
      decoded.ok() ? ElapsedSince(decoded->state.saved_at, decoded->boot, now, ReadBootId())
                   : decoded.status();
  if (!elapsed.ok()) {
    Refuse(path, elapsed.status(), loaded);
    return loaded;
  }
  loaded.elapsed_ns = *elapsed;
  loaded.state = std::move(decoded->state);
  return loaded;
}

}  // namespace headgate::snapshot
