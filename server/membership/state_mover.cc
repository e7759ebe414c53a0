#include "server/membership/state_mover.h"

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

}  // namespace

StateMover::Written& StateMover::WrittenOf(const Held& held) {
  Written& written = written_[held.target];
  if (written.generation != held.generation) written = {.generation = held.generation};
  return written;
}

void StateMover::Drain() {
  decisions_.BeginDrain();
  while (!decisions_.IsDrained()) pause_.Wait(pause_.rings(), kPauseNs);
}

std::vector<absl::Status> StateMover::Take(absl::Span<const Held> targets) {
  std::vector<absl::Status> done;
  bool is_any_late = false;
  while (done.size() < targets.size()) {
    const absl::Span<const Held> some = targets.subspan(done.size(), read_at_once_);
    std::vector<cluster::ReadState> states = store_.ReadStates(some, timeout_);
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
    // Of a target that the configuration does not have any more nothing is known.
    if (!bytes.ok() && !absl::IsNotFound(bytes.status())) {
      done[places[i]] = bytes.status();
      continue;
    }
    Written& written = WrittenOf(targets[places[i]]);
    written.last = bytes.ok() ? *std::move(bytes) : std::string();
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
    if (!done[i].ok()) continue;
    Written& written = WrittenOf(targets[i]);
    places.push_back(i);
    writes.push_back({.target = targets[i].target,
                      .generation = targets[i].generation,
                      .sequence = ++written.sequence,
                      .age = absl::Nanoseconds(std::max<int64_t>(now_ns - written.last_at_ns, 0)),
                      .is_final = true,
                      .bytes = *written.last});
  }
  std::vector<absl::Status> statuses = store_.WriteStates(writes, timeout_);
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
  std::vector<StateWrite> writes;
  for (size_t i = 0; i < owners.size(); ++i) {
    writes.push_back({.target = owners[i]->target,
                      .generation = owners[i]->generation,
                      .sequence = ++WrittenOf(*owners[i]).sequence,
                      .age = absl::ZeroDuration(),
                      .bytes = copies[i]});
  }
  const std::vector<absl::Status> done = store_.WriteStates(writes, timeout_);
  for (size_t i = 0; i < owners.size(); ++i) {
    Written& written = WrittenOf(*owners[i]);
    written.bytes.reset();
    if (done[i].ok()) written.bytes = std::move(copies[i]);
  }
}

}  // namespace headgate::membership
