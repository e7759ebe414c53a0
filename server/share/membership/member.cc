#include "server/share/membership/member.h"

#include <algorithm>
#include <utility>

namespace headgate::membership {

using cluster::Action;
using cluster::Held;
using cluster::Phase;

namespace {

constexpr int64_t kLongestSleepNs = int64_t{60} * 1'000'000'000;

MemberOptions WhoTriesStates(MemberOptions options) {
  options.protocol.tries_states = true;
  return options;
}

}  // namespace

Member::Member(MemberOptions options, cluster::Store& store, TargetStates& states, Clock& clock)
    : options_(WhoTriesStates(std::move(options))),
      store_(store),
      clock_(clock),
      mover_({.store = store,
              .states = states,
              .decisions = decisions_,
              .clock = clock,
              .timeout = options_.protocol.trust()}),
      protocol_(options_.protocol) {}

void Member::SetTargets(const std::map<std::string, uint64_t>& targets) {
  {
    const MutexLock lock(&mutex_);
    protocol_.SetTargets(targets);
  }
  changed_.Notify();
}

void Member::OnMeasured(const std::string& target, cluster::Measures measures,
                        const std::string& why) {
  {
    const MutexLock lock(&mutex_);
    if (!protocol_.OnMeasured(target, measures, why, NowNs())) return;
  }
  changed_.Notify();
}

void Member::Start() {
  threads_.emplace_back([this] { Follow(); });
  threads_.emplace_back([this] { AskForRounds(); });
  threads_.emplace_back([this] { MoveStates(); });
}

bool Member::IsStopping() const {
  const MutexLock lock(&mutex_);
  return stopping_;
}

void Member::Follow() {
  while (!IsStopping()) {
    const uint64_t seen = changed_.count();
    std::vector<Action> actions;
    int64_t next_ns = 0;
    bool has_changed = false;
    {
      const MutexLock lock(&mutex_);
      const int64_t now_ns = NowNs();
      actions = protocol_.Tick(now_ns);
      // Before anything is done: a target that is to be written is nobody's from now on.
      has_changed = table_.Publish(protocol_.Owners(now_ns), now_ns);
      next_ns = protocol_.NextTick(now_ns);
      servers_without_store_.store(protocol_.ServersWithoutStore(), std::memory_order_relaxed);
    }
    Dispatch(std::move(actions));
    if (has_changed) TellListeners();
    changed_.Wait(seen, std::max<int64_t>(next_ns - NowNs(), 0));
  }
}

void Member::Dispatch(std::vector<Action> actions) {
  bool is_for_threads = false;
  for (Action& action : actions) {
    if (const auto* const tell = std::get_if<cluster::Tell>(&action)) {
      if (options_.tell) options_.tell(*tell);
      continue;
    }
    if (const auto* const ask = std::get_if<cluster::AskToKeep>(&action)) {
      AskToKeep(*ask);
      continue;
    }
    if (const auto* const measure = std::get_if<cluster::Measure>(&action)) {
      if (options_.measure) {
        options_.measure(*measure);
      } else if (measure->wanted) {
        OnMeasured(measure->target, cluster::Measures::kAll, "");
      }
      continue;
    }
    is_for_threads = true;
    const MutexLock lock(&mutex_);
    if (auto* const start = std::get_if<cluster::StartRound>(&action)) {
      round_ = std::move(start->request);
    } else {
      moves_.push_back(std::move(action));
    }
  }
  if (is_for_threads) changed_.Notify();
}

void Member::AskToKeep(const cluster::AskToKeep& ask) {
  const auto then = [this, name = ask.to.name, asking = ask.asking,
                     started_ns = NowNs()](bool agrees) {
    {
      const MutexLock lock(&mutex_);
      protocol_.OnKeepAnswer(name, asking, agrees, started_ns);
    }
    changed_.Notify();
  };
  if (!options_.ask_to_keep) return then(false);
  options_.ask_to_keep(ask, then);
}

absl::Status Member::Agree(const cluster::KeepQuestion& question) {
  const MutexLock lock(&mutex_);
  return protocol_.Agree(question, NowNs());
}

void Member::AskForRounds() {
  while (!IsStopping()) {
    const uint64_t seen = changed_.count();
    if (!AskForOneRound()) changed_.Wait(seen, kLongestSleepNs);
  }
}

bool Member::AskForOneRound() {
  cluster::RoundRequest request;
  {
    const MutexLock lock(&mutex_);
    if (!round_.has_value()) return false;
    request = *std::move(round_);
    round_.reset();
  }
  const int64_t started_ns = NowNs();
  const absl::StatusOr<cluster::RoundReply> reply =
      store_.Round(request, options_.protocol.period());
  {
    const MutexLock lock(&mutex_);
    protocol_.OnRound(reply, started_ns, NowNs());
  }
  changed_.Notify();
  if (options_.on_round) options_.on_round(reply);
  return true;
}

void Member::MoveStates() {
  int64_t copy_at_ns = NowNs();
  while (!IsStopping()) {
    const uint64_t seen = changed_.count();
    const bool has_moved = MoveStatesOnce();
    TryStates();
    if (has_moved) continue;
    const int64_t now_ns = NowNs();
    if (now_ns < copy_at_ns) {
      changed_.Wait(seen, std::max<int64_t>(std::min(copy_at_ns, try_at_ns_) - now_ns, 0));
      continue;
    }
    copy_at_ns = now_ns + absl::ToInt64Nanoseconds(options_.copy_every);
    mover_.Copy(Served());
  }
}

void Member::TryStates() {
  const int64_t lease_ns = absl::ToInt64Nanoseconds(options_.protocol.lease);
  std::optional<absl::Status> status = mover_.TakeEvidence();
  int64_t now_ns = NowNs();
  if (status.has_value() && !status->ok()) {
    // One that failed may have been too large. It is tried at once, but not all the time.
    try_at_ns_ = std::min(try_at_ns_, std::max(now_ns, tried_at_ns_ + lease_ns / 6));
    status.reset();
  }
  if (!status.has_value()) {
    if (now_ns < try_at_ns_) return;
    status = store_.TryStates(options_.protocol.incarnation, options_.protocol.trust());
    tried_at_ns_ = now_ns = NowNs();
  }
  try_at_ns_ = now_ns + lease_ns / 3;
  {
    const MutexLock lock(&mutex_);
    if (!protocol_.OnStatesTried(*status, now_ns)) return;
  }
  changed_.Notify();
}

template <typename Move>
std::vector<Held> Member::NextMoves() {
  std::vector<Held> next;
  const MutexLock lock(&mutex_);
  while (!moves_.empty() && std::holds_alternative<Move>(moves_.front())) {
    next.push_back(std::move(std::get<Move>(moves_.front()).held));
    moves_.pop_front();
  }
  return next;
}

bool Member::MoveStatesOnce() {
  // Of those that come one after the other of one kind: they are written and read together.
  const std::vector<Held> passed = NextMoves<cluster::PassOn>();
  const std::vector<Held> saves = passed.empty() ? NextMoves<cluster::Save>() : passed;
  const std::vector<Held> takes = saves.empty() ? NextMoves<cluster::Take>() : std::vector<Held>();
  if (!saves.empty()) {
    const std::vector<absl::Status> done =
        passed.empty() ? mover_.Save(saves) : mover_.PassOn(passed);
    const MutexLock lock(&mutex_);
    for (size_t i = 0; i < saves.size(); ++i) protocol_.OnSaved(saves[i], done[i], NowNs());
  } else if (!takes.empty()) {
    const std::vector<absl::Status> done = mover_.Take(takes);
    const MutexLock lock(&mutex_);
    for (size_t i = 0; i < takes.size(); ++i) protocol_.OnTaken(takes[i], done[i], NowNs());
  } else {
    const std::vector<Held> drops = NextMoves<cluster::Drop>();
    if (drops.empty()) return false;
    for (const Held& held : drops) mover_.Drop(held);
  }
  changed_.Notify();
  return true;
}

std::vector<Held> Member::Served() const {
  const MutexLock lock(&mutex_);
  std::vector<Held> served;
  for (const auto& [target, holding] : protocol_.holdings()) {
    if (holding.phase == Phase::kServing) served.push_back({target, holding.generation});
  }
  return served;
}

absl::Status Member::Leave(absl::Duration longest) {
  const int64_t until_ns = NowNs() + absl::ToInt64Nanoseconds(longest);
  {
    const MutexLock lock(&mutex_);
    protocol_.Leave();
  }
  changed_.Notify();
  for (;;) {
    const uint64_t seen = changed_.count();
    {
      const MutexLock lock(&mutex_);
      if (protocol_.HasLeft()) return absl::OkStatus();
      if (protocol_.LeavesInVain(NowNs())) {
        return absl::UnavailableError("the store does not answer");
      }
    }
    const int64_t left_ns = until_ns - NowNs();
    if (left_ns <= 0) return absl::DeadlineExceededError("no time is left");
    changed_.Wait(seen, left_ns);
  }
}

void Member::Stop() {
  {
    const MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Notify();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Member::OnTold(uint64_t owner_incarnation, const Held& held) {
  {
    const MutexLock lock(&mutex_);
    protocol_.OnTold(owner_incarnation, held, NowNs());
  }
  changed_.Notify();
}

// The next owner hears of it by its next round at the latest.
bool Member::AllAreSettled(const Now& now) const {
  const int64_t lost_at_ns = table_.lost_at_ns();
  const bool has_lost_none =
      lost_at_ns == INT64_MIN ||
      absl::Nanoseconds(now.monotonic_ns - lost_at_ns) > options_.protocol.lease;
  return has_lost_none && !table_.IsAnybodyMissing();
}

bool Member::HasJoined() const {
  const MutexLock lock(&mutex_);
  return protocol_.seen().HasAny() && !protocol_.name_is_taken();
}

cluster::ClusterView Member::View() const {
  const MutexLock lock(&mutex_);
  return cluster::ViewOf(protocol_, NowNs());
}

std::vector<std::string> Member::Addresses() const {
  const MutexLock lock(&mutex_);
  std::vector<std::string> addresses;
  for (const auto& [name, member] : protocol_.seen().members()) {
    // Where the name is taken, it is another server that has it.
    if (name == options_.protocol.name && !protocol_.name_is_taken()) continue;
    // As of the newest reply: who has lost the store asks those that were there last.
    if (protocol_.seen().MemberHere(name, protocol_.seen().newest_ns()) == nullptr) continue;
    addresses.push_back(member.view.row.address);
  }
  return addresses;
}

void Member::Listen(cluster::OwnersListener* listener) {
  const MutexLock lock(&listeners_mutex_);
  listeners_.insert(listener);
}

void Member::Leave(cluster::OwnersListener* listener) {
  const MutexLock lock(&listeners_mutex_);
  listeners_.erase(listener);
}

void Member::TellListeners() {
  const MutexLock lock(&listeners_mutex_);
  for (cluster::OwnersListener* const listener : listeners_) listener->OwnersChanged();
}

}  // namespace headgate::membership
