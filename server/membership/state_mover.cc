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

absl::Status StateMover::TakeOut(const Held& held) {
  Written& written = WrittenOf(held);
  if (written.last.has_value()) return absl::OkStatus();
  absl::StatusOr<std::string> bytes = states_.Copy(held.target);
  // Of a target that the configuration does not have any more nothing is known.
  if (!bytes.ok() && !absl::IsNotFound(bytes.status())) return bytes.status();
  written.last = bytes.ok() ? *std::move(bytes) : std::string();
  written.last_at_ns = clock_.Read().monotonic_ns;
  // A Report that comes now is not for here: the one who has the last state has its permit.
  states_.Forget(held.target);
  return absl::OkStatus();
}

std::vector<absl::Status> StateMover::Save(const std::vector<Held>& targets) {
  Drain();
  std::vector<absl::Status> done;
  std::vector<StateWrite> writes;
  std::vector<size_t> places;  // of those
  const int64_t now_ns = clock_.Read().monotonic_ns;
  for (const Held& held : targets) {
    done.push_back(TakeOut(held));
    if (!done.back().ok()) continue;
    Written& written = WrittenOf(held);
    places.push_back(done.size() - 1);
    writes.push_back({.target = held.target,
                      .generation = held.generation,
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
  std::vector<std::string> copies;
  std::vector<const Held*> owners;
  for (const Held& held : served) {
    absl::StatusOr<std::string> bytes = states_.Copy(held.target);
    if (!bytes.ok()) continue;  // the configuration has changed just now
    Written& written = WrittenOf(held);
    // What is owed nothing, and was so before, has not changed. All else has, as time goes on.
    if (bytes->empty() && written.bytes.has_value() && written.bytes->empty()) continue;
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
