#include "server/share/membership/state_mover.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace headgate::membership {

using cluster::Held;
using cluster::StateWrite;
using cluster::StoredState;
using cluster::Takeover;

namespace {

constexpr int64_t kPauseNs = 200'000;

// What became of one target says nothing of others.
bool IsOfTarget(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsDataLoss(status);
}

}  // namespace

StateMover::Written& StateMover::WrittenOf(const Held& held) {
  Written& written = written_[held.target];
  if (written.generation != held.generation) written = {.generation = held.generation};
  return written;
}

void StateMover::Drain() {
  decisions_.BeginDrain();
  while (!decisions_.IsDrained()) never_notified_.Wait(never_notified_.count(), kPauseNs);
}

std::vector<absl::Status> StateMover::Write(absl::Span<const StateWrite> writes) {
  std::vector<absl::Status> done = store_.WriteStates(writes, timeout_);
  const bool is_any_written = std::ranges::any_of(done, &absl::Status::ok);
  if (is_any_written || !IsOfTarget(done.front())) {
    evidence_ = is_any_written ? absl::OkStatus() : done.front();
  }
  return done;
}

// One that went well says nothing of writing.
std::vector<cluster::ReadState> StateMover::Read(absl::Span<const Held> targets) {
  std::vector<cluster::ReadState> states = store_.ReadStates(targets, timeout_);
  const absl::Status& status = states.front().status();
  if (!status.ok() && !IsOfTarget(status)) evidence_ = status;
  return states;
}

std::vector<absl::Status> StateMover::Take(absl::Span<const Held> targets) {
  std::vector<absl::Status> done;
  bool is_any_late = false;
  while (done.size() < targets.size()) {
    const absl::Span<const Held> some = targets.subspan(done.size(), read_at_once_);
    std::vector<cluster::ReadState> states = Read(some);
    const bool is_late = absl::IsDeadlineExceeded(states.front().status());
    if (is_late) read_at_once_ = std::max<size_t>(some.size() / 2, 1);
    is_any_late = is_any_late || is_late;
    absl::Status prepared = is_late ? absl::OkStatus() : states_.Prepare(some);
    for (size_t i = 0; i < some.size(); ++i) {
      done.push_back(prepared.ok() ? Adopt(some[i], std::move(states[i])) : prepared);
    }
  }
  if (!is_any_late) read_at_once_ = kReadAtOnce;
  return done;
}

absl::Status StateMover::Adopt(const Held& held, cluster::ReadState state) {
  // What cannot be put together again is as good as none: the owner before has admitted something.
  const bool is_lost = absl::IsDataLoss(state.status());
  if (!state.ok() && !is_lost) return state.status();
  const std::optional<StoredState> known = is_lost ? std::nullopt : *std::move(state);
  const Takeover takeover = is_lost ? Takeover::kLearning : cluster::TakeoverOf(held, known);
  written_.erase(held.target);
  return states_.Adopt(held.target, takeover, known);
}

std::vector<absl::Status> StateMover::TakeOut(const std::vector<Held>& targets) {
  std::vector<absl::Status> done(targets.size());
  std::vector<std::string> names;
  std::vector<size_t> places;  // of those
  for (size_t i = 0; i < targets.size(); ++i) {
    if (WrittenOf(targets[i]).last.has_value()) continue;
    names.push_back(targets[i].target);
    places.push_back(i);
  }
  if (names.empty()) return done;
  std::vector<absl::StatusOr<std::string>> copies = states_.Copy(names);
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StatusOr<std::string>& bytes = copies[i];
    if (!bytes.ok()) {
      done[places[i]] = bytes.status();
      continue;
    }
    Written& written = WrittenOf(targets[places[i]]);
    written.last = *std::move(bytes);
    written.last_health = states_.Health(names[i]);
    written.last_at_ns = clock_.Read().monotonic_ns;
    // A Report that comes now is not for here: the one who has the last state has its permit.
    states_.Forget(names[i]);
  }
  return done;
}

std::vector<absl::Status> StateMover::Save(const std::vector<Held>& targets) {
  Drain();
  const int64_t now_ns = clock_.Read().monotonic_ns;
  std::vector<absl::Status> done = TakeOut(targets);
  std::vector<StateWrite> writes;
  std::vector<size_t> places;  // of those
  for (size_t i = 0; i < targets.size(); ++i) {
    // What the configuration does not have any more is known as far as the store has a copy of it,
    // which is not the last: the next owner learns.
    if (absl::IsNotFound(done[i])) done[i] = absl::OkStatus();
    Written& written = WrittenOf(targets[i]);
    if (!done[i].ok() || !written.last.has_value()) continue;
    places.push_back(i);
    writes.push_back({.target = targets[i].target,
                      .generation = targets[i].generation,
                      .sequence = ++written.sequence,
                      .age = absl::Nanoseconds(std::max<int64_t>(now_ns - written.last_at_ns, 0)),
                      .is_final = true,
                      .bytes = *written.last,
                      .health = written.last_health});
  }
  if (writes.empty()) return done;
  std::vector<absl::Status> statuses = Write(writes);
  for (size_t i = 0; i < places.size(); ++i) done[places[i]] = std::move(statuses[i]);
  return done;
}

std::vector<absl::Status> StateMover::PassOn(const std::vector<Held>& targets) {
  const std::vector<cluster::ReadState> states = Read(targets);
  std::vector<absl::Status> done(targets.size());
  std::vector<StateWrite> writes;
  std::vector<size_t> places;  // of those
  for (size_t i = 0; i < targets.size(); ++i) {
    const cluster::ReadState& read = states[i];
    // What cannot be put together the next owner cannot either, and learns.
    if (!read.ok() && !absl::IsDataLoss(read.status())) done[i] = read.status();
    if (!read.ok()) continue;
    const bool is_known = read->has_value();
    places.push_back(i);
    writes.push_back({.target = targets[i].target,
                      .generation = targets[i].generation,
                      .sequence = ++WrittenOf(targets[i]).sequence,
                      .age = is_known ? (*read)->age : absl::ZeroDuration(),
                      .is_final = cluster::TakeoverOf(targets[i], *read) != Takeover::kLearning,
                      .bytes = is_known ? std::string_view((*read)->whole) : std::string_view(),
                      .health = is_known ? std::string_view((*read)->health) : std::string_view()});
  }
  if (writes.empty()) return done;
  std::vector<absl::Status> statuses = Write(writes);
  for (size_t i = 0; i < places.size(); ++i) done[places[i]] = std::move(statuses[i]);
  return done;
}

void StateMover::Drop(const Held& held) {
  const auto found = written_.find(held.target);
  const bool is_forgotten = found != written_.end() &&
                            found->second.generation == held.generation &&
                            found->second.last.has_value();
  if (found != written_.end()) written_.erase(found);
  if (is_forgotten) return;
  Drain();
  states_.Forget(held.target);
}

void StateMover::Copy(const std::vector<Held>& served) {
  std::vector<std::string> names;
  names.reserve(served.size());
  for (const Held& held : served) names.push_back(held.target);
  std::vector<absl::StatusOr<std::string>> known = states_.Copy(names);
  std::vector<std::string> copies;
  std::vector<const Held*> owners;
  for (size_t i = 0; i < served.size(); ++i) {
    const Held& held = served[i];
    absl::StatusOr<std::string>& bytes = known[i];
    if (!bytes.ok()) continue;  // the configuration has changed just now
    Written& written = WrittenOf(held);
    // Where nothing is owed and nobody asks, nothing changes. All else does, as time goes on.
    if (written.bytes == *bytes) continue;
    copies.push_back(*std::move(bytes));
    owners.push_back(&held);
  }
  if (owners.empty()) return;
  std::vector<std::string> healths;
  healths.reserve(owners.size());
  for (const Held* const held : owners) healths.push_back(states_.Health(held->target));
  std::vector<StateWrite> writes;
  for (size_t i = 0; i < owners.size(); ++i) {
    writes.push_back({.target = owners[i]->target,
                      .generation = owners[i]->generation,
                      .sequence = ++WrittenOf(*owners[i]).sequence,
                      .age = absl::ZeroDuration(),
                      .bytes = copies[i],
                      .health = healths[i]});
  }
  const std::vector<absl::Status> done = Write(writes);
  for (size_t i = 0; i < owners.size(); ++i) {
    Written& written = WrittenOf(*owners[i]);
    written.bytes.reset();
    if (done[i].ok()) written.bytes = std::move(copies[i]);
  }
}

}  // namespace headgate::membership
