#include "client/agent/restore.h"

#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"

namespace headgate::agent {
namespace {

bool IsThere(const Record& record, Processes& processes) {
  const std::optional<Processes::Found> found = processes.Find(record.pid);
  return found.has_value() && found->started_ticks == record.started_ticks;
}

}  // namespace

absl::Status RestoreOne(const Record& record, Journal& journal, Processes& processes) {
  absl::Status status = IsThere(record, processes)
                            ? processes.Raise(record.pid, record.means, record.before)
                            : absl::NotFoundError("it has ended");
  if (status.ok() || absl::IsNotFound(status)) {
    // What can't be crossed out is looked at once more by whoever restores next, and is as it was.
    const absl::Status crossed_out = journal.Remove(record.pid, record.started_ticks);
    if (status.ok()) status = crossed_out;
  }
  return status;
}

Restored Restore(Journal& journal, Processes& processes) {
  Restored restored;
  for (const Record& record : journal.Records()) {
    const absl::Status status = RestoreOne(record, journal, processes);
    if (status.ok()) {
      ++restored.raised;
    } else if (absl::IsNotFound(status)) {
      ++restored.gone;
    } else if (restored.left.ok() || absl::IsUnavailable(restored.left)) {
      // What can't be helped by trying again says more.
      restored.left =
          absl::Status(status.code(), absl::StrCat("process ", record.pid, ": ", status.message()));
    }
    // An empty group is gone; one with others in it stays.
    if (!record.means.group.empty()) rmdir(record.means.group.c_str());
  }
  return restored;
}

}  // namespace headgate::agent
