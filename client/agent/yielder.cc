#include "client/agent/yielder.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/agent/restore.h"

namespace headgate::agent {
namespace {

std::string ParentOf(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

bool IsSameSession(const Assignment& one, const Assignment& other) {
  return one.pid == other.pid && one.began_us == other.began_us;
}

}  // namespace

std::vector<Yielder::Change> Yielder::Apply(absl::Span<const Assignment> assignments,
                                            int postmaster) {
  std::vector<Change> changes;
  absl::flat_hash_map<int, const Assignment*> wanted;
  for (const Assignment& assignment : assignments) wanted[assignment.pid] = &assignment;
  absl::erase_if(sessions_, [&](auto& entry) {
    const auto found = wanted.find(entry.first);
    if (found != wanted.end() && IsSameSession(*found->second, entry.second.assignment)) {
      return false;
    }
    return Restore(entry.second, Change::Kind::kRestored, changes);
  });
  // Whom others wait for first: where the kernel takes few changes a second, the rest can wait.
  for (const bool is_awaited : {true, false}) {
    for (const Assignment& assignment : assignments) {
      if ((assignment.rank == Rank::kRaisedForWaiter) == is_awaited) {
        Assign(assignment, postmaster, changes);
      }
    }
  }
  Count();
  return changes;
}

void Yielder::Assign(const Assignment& assignment, int postmaster, std::vector<Change>& changes) {
  Session& session = sessions_[assignment.pid];
  // Of a session before it with the same number, which could not be restored yet.
  if (session.is_lowered && !IsSameSession(session.assignment, assignment)) return;
  if (!IsSameSession(session.assignment, assignment)) {
    session = {};
    session.ran_ns = processes_.ProcessorNs(assignment.pid).value_or(0);
  }
  session.assignment = assignment;
  if (assignment.rank == Rank::kYields) {
    if (!session.is_lowered && !session.is_refused) Lower(session, postmaster, changes);
  } else if (session.is_lowered) {
    Restore(session, Change::Kind::kRaised, changes);
  } else {
    TellRaised(session, changes);
  }
}

// One that was raised for the floor and is raised for a better reason now.
void Yielder::TellRaised(Session& session, std::vector<Change>& changes) {
  const bool is_of_floor = session.assignment.rank == Rank::kRaisedForFloor;
  if (is_of_floor || session.last_told != Session::Told::kYields) return;
  session.last_told = Session::Told::kRaised;
  changes.push_back({.kind = Change::Kind::kRaised, .assignment = session.assignment});
}

std::vector<Yielder::Change> Yielder::RestoreAll() {
  std::vector<Change> changes;
  absl::erase_if(sessions_, [&](auto& entry) {
    return Restore(entry.second, Change::Kind::kRestored, changes);
  });
  Count();
  return changes;
}

void Yielder::Lower(Session& session, int postmaster, std::vector<Change>& changes) {
  const absl::Status status = TryToLower(session, postmaster);
  if (status.ok()) {
    session.is_lowered = true;
    session.told = false;
    const bool is_news =
        std::exchange(session.last_told, Session::Told::kYields) != Session::Told::kYields;
    changes.push_back(
        {.kind = Change::Kind::kYields, .assignment = session.assignment, .is_news = is_news});
  } else if (!absl::IsUnavailable(status) && !absl::IsNotFound(status)) {
    session.is_refused = true;
    Tell(session, status, changes);
  }
}

absl::Status Yielder::TryToLower(Session& session, int postmaster) {
  const int pid = session.assignment.pid;
  const std::optional<Processes::Found> found = processes_.Find(pid);
  if (!found.has_value()) return absl::NotFoundError("it has ended");
  if (found->parent != postmaster) {
    return absl::FailedPreconditionError("its process is no child of PostgreSQL's");
  }
  absl::StatusOr<Before> before = processes_.Read(pid, means_);
  if (!before.ok()) return before.status();
  if (means_.kind == Means::Kind::kGroup) {
    // One that an agent without this journal has moved there.
    if (before->group == means_.group) before->group = ParentOf(means_.group);
    if (before->group != ParentOf(means_.group)) {
      return absl::FailedPreconditionError(
          absl::StrCat("it is in a cgroup of its own, ", before->group));
    }
  }
  session.record = {.pid = pid,
                    .started_ticks = found->started_ticks,
                    .means = means_,
                    .before = *std::move(before)};
  if (absl::Status status = journal_.Add(session.record); !status.ok()) return status;
  absl::Status status = processes_.Lower(pid, means_);
  const std::optional<Processes::Found> after = processes_.Find(pid);
  const bool is_same = after.has_value() && after->started_ticks == found->started_ticks;
  if (status.ok() && is_same) return status;
  // Some of its threads may have been lowered, or another process that has the number now.
  if (after.has_value()) processes_.Raise(pid, means_, session.record.before).IgnoreError();
  status.Update(is_same ? absl::OkStatus() : absl::NotFoundError("it has ended"));
  status.Update(journal_.Remove(pid, found->started_ticks));
  return status;
}

bool Yielder::Restore(Session& session, Change::Kind kind, std::vector<Change>& changes) {
  if (!session.is_lowered) return true;
  AddProcessorTime(session);
  const absl::Status status = RestoreOne(session.record, journal_, processes_);
  if (!status.ok() && !absl::IsNotFound(status)) {
    if (!absl::IsUnavailable(status)) Tell(session, status, changes);
    return false;
  }
  session.is_lowered = false;
  const bool is_of_floor = kind == Change::Kind::kRaised && status.ok() &&
                           session.assignment.rank == Rank::kRaisedForFloor;
  if (!is_of_floor) session.last_told = Session::Told::kRaised;
  changes.push_back({.kind = status.ok() ? kind : Change::Kind::kEnded,
                     .assignment = session.assignment,
                     .is_news = !is_of_floor});
  return true;
}

void Yielder::Tell(Session& session, absl::Status why, std::vector<Change>& changes) {
  if (std::exchange(session.told, true)) return;
  changes.push_back(
      {.kind = Change::Kind::kFailed, .assignment = session.assignment, .why = std::move(why)});
}

void Yielder::CountProcessorTime() {
  size_t counted = 0;
  for (auto& [pid, session] : sessions_) {
    if (session.round == round_) continue;
    if (counted++ == kMostCounted) return;
    session.round = round_;
    AddProcessorTime(session);
  }
  ++round_;
}

void Yielder::AddProcessorTime(Session& session) {
  const std::optional<int64_t> ran_ns = processes_.ProcessorNs(session.assignment.pid);
  if (!ran_ns.has_value()) return;
  ran_ns_ += std::max<int64_t>(*ran_ns - session.ran_ns, 0);
  session.ran_ns = *ran_ns;
}

bool Yielder::Yields(int pid) const {
  const auto found = sessions_.find(pid);
  return found != sessions_.end() && found->second.is_lowered;
}

std::vector<Assignment> Yielder::Some(Which which, size_t most) const {
  std::vector<Assignment> some;
  for (const auto& [pid, session] : sessions_) {
    const bool is_raised = session.assignment.rank != Rank::kYields;
    if (which == Which::kYield ? session.is_lowered : is_raised) some.push_back(session.assignment);
  }
  const size_t kept = std::min(most, some.size());
  std::partial_sort(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(kept), some.end(),
                    [](const Assignment& a, const Assignment& b) { return a.pid < b.pid; });
  some.resize(kept);
  return some;
}

void Yielder::Count() {
  yielding_ = raised_ = 0;
  for (const auto& [pid, session] : sessions_) {
    if (session.is_lowered) ++yielding_;
    if (session.assignment.rank != Rank::kYields) ++raised_;
  }
}

}  // namespace headgate::agent
