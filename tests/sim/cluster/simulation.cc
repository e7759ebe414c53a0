#include "tests/sim/cluster/simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "server/share/cluster/takeover.h"
#include "tests/sim/cluster/simulated_machine.h"

namespace headgate::cluster {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kChecksAtOnce = 20;
constexpr int64_t kStateEvery = 750'000'000;  // by the owner's clock
constexpr int64_t kStateTryEvery = kSecond;   // likewise

ModelStore::Fencing FencingOf(Broken broken) {
  if (broken == Broken::kFencing) return ModelStore::Fencing::kNone;
  return broken == Broken::kMarks ? ModelStore::Fencing::kWithoutMarks
                                  : ModelStore::Fencing::kByGeneration;
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), random_(options.seed), store_(FencingOf(options.broken)) {
  for (int i = 0; i < options.targets; ++i) {
    targets_.insert(absl::StrCat("target-", i));
    promises_.emplace(absl::StrCat("target-", i), Promise(budget_, options.fastest_clock));
  }
  machines_.resize(static_cast<size_t>(options.machines));
  for (int i = 0; i < options.machines; ++i) Start(i, absl::StrCat("headgate-", i));
  After(0.01, [this] { Caller(); });
  After(1, [this] { Faults(); });
}

Simulation::~Simulation() = default;

double Simulation::Uniform(double low, double high) {
  // Not std::uniform_real_distribution, whose numbers differ between libraries.
  return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
}

int64_t Simulation::Delay() {
  const double seconds = !is_calm_ && Happens(0.05) ? Uniform(0, 2) : Uniform(0.0005, 0.02);
  return static_cast<int64_t>(seconds * kSecond);
}

void Simulation::At(int64_t at_ns, std::function<void()> what) {
  events_.push({at_ns, ++next_event_, std::move(what)});
}

void Simulation::After(double seconds, std::function<void()> what) {
  At(now_ns_ + static_cast<int64_t>(seconds * kSecond), std::move(what));
}

void Simulation::On(int machine, int64_t at_ns, std::function<void(Machine&)> what) {
  const uint64_t process = machines_[static_cast<size_t>(machine)]->process;
  At(at_ns, [this, machine, process, what = std::move(what)] {
    Machine& now = *machines_[static_cast<size_t>(machine)];
    if (now.process != process || !now.is_up) return;
    // A stopped process gets it when it goes on.
    if (now_ns_ < now.stopped_until_ns) return On(machine, now.stopped_until_ns, what);
    what(now);
  });
}

void Simulation::Violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = absl::StrCat(what, " at ", absl::FormatDuration(absl::Nanoseconds(now_ns_)),
                            " (seed ", options_.seed, ")");
}

absl::Time Simulation::StoreNow() const {
  return absl::FromUnixNanos(1'000 * kSecond + now_ns_ + store_offset_ns_);
}

void Simulation::Start(int machine, const std::string& name) {
  const uint64_t process = next_process_++;
  auto started = std::make_unique<Machine>(
      ProtocolOptions{.name = name,
                      .incarnation = process,
                      .address = absl::StrCat("10.0.0.", machine, ":7000"),
                      .on_store_loss = options_.on_store_loss,
                      .tries_states = options_.states_fail},
      machine, process);
  started->rate = Uniform(options_.slowest_clock, options_.fastest_clock);
  started->base_ns = static_cast<int64_t>(Uniform(0, 1000) * kSecond);
  started->started_ns = now_ns_;
  started->is_of_earlier_release = machine < options_.earlier_releases;
  Configure(*started);
  machines_[static_cast<size_t>(machine)] = std::move(started);
  On(machine, now_ns_, [this](Machine& on) { Wake(on); });
  On(machine, now_ns_, [this, machine, process](Machine&) { WriteStates(machine, process); });
  if (options_.states_fail) TryStates(machine, process);
}

void Simulation::Crash(Machine& machine) {
  if (!machine.is_up) return;
  machine.is_up = false;
  const int index = machine.index;
  After(is_calm_ ? 0.1 : Uniform(0.1, 10), [this, index] {
    if (!machines_[static_cast<size_t>(index)]->is_up)
      Start(index, absl::StrCat("headgate-", index));
  });
}

void Simulation::Wake(Machine& machine) {
  const int64_t local_ns = machine.Local(now_ns_);
  for (const Action& action : machine.protocol.Tick(local_ns)) Do(machine, action);
  if (machine.protocol.HasLeft()) return Crash(machine);
  if (machine.protocol.seen().overrides_revision() > machine.overrides) {
    machine.overrides = store_.overrides();
  }
  const int64_t next_ns = machine.protocol.NextTick(local_ns);
  const int64_t wake_ns = now_ns_ + machine.TrueSpan(std::max<int64_t>(next_ns - local_ns, 1));
  if (machine.wake_ns > now_ns_ && machine.wake_ns <= wake_ns) return;  // it wakes sooner anyway
  machine.wake_ns = wake_ns;
  On(machine.index, wake_ns, [this](Machine& on) { Wake(on); });
}

template <typename Answer>
void Simulation::CallStore(Machine& machine, std::function<Answer()> ask,
                           std::function<void(Machine&, const Answer&)> then, Answer failed) {
  const int index = machine.index;
  // Shared by the answer and the deadline: whichever comes first.
  auto is_done = std::make_shared<bool>(false);
  auto finish = [is_done, then](Machine& on, const Answer& answer) {
    if (*is_done) return;
    *is_done = true;
    then(on, answer);
  };
  const int copies = Happens(loss_ / 2) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const int64_t arrives_ns = now_ns_ + Delay();
    if (Happens(loss_)) continue;
    At(arrives_ns, [this, index, process = machine.process, ask, finish] {
      Machine& from = *machines_[static_cast<size_t>(index)];
      // What was sent arrives though its sender has gone.
      if (is_store_away_ || (from.process == process && from.is_cut_from_store)) return;
      const Answer answer = ask();
      if (Happens(loss_) || from.process != process) return;
      On(index, now_ns_ + Delay(), [finish, answer](Machine& on) { finish(on, answer); });
    });
  }
  On(index,
     now_ns_ + machine.TrueSpan(absl::ToInt64Nanoseconds(machine.protocol.options().period())),
     [finish, failed](Machine& on) { finish(on, failed); });
}

void Simulation::DoRound(Machine& machine, const RoundRequest& request) {
  using Reply = absl::StatusOr<RoundReply>;
  const int64_t started_ns = machine.Local(now_ns_);
  RoundRequest asked = request;
  if (machine.is_of_earlier_release) asked.self.offers.reset();
  CallStore<Reply>(
      machine, [this, asked] { return Reply(store_.Round(asked, StoreNow())); },
      [this, started_ns](Machine& on, const Reply& reply) {
        const int64_t local_ns = on.Local(now_ns_);
        Reply heard = reply;
        if (heard.ok() && options_.broken == Broken::kListed) {
          for (MemberView& member : heard->members) member.row.asks.reset();
        }
        if (heard.ok() && on.is_of_earlier_release) {
          for (MemberView& member : heard->members) member.row.offers.reset();
        }
        on.protocol.OnRound(heard, options_.broken == Broken::kTrust ? local_ns : started_ns,
                            local_ns);
        Wake(on);
      },
      absl::DeadlineExceededError("the store does not answer"));
}

void Simulation::DoTake(Machine& machine, const Held& held) {
  using State = absl::StatusOr<std::optional<StoredState>>;
  CallStore<State>(
      machine,
      [this, held, index = machine.index] {
        if (absl::Status status = StatesOf(index); !status.ok()) return State(status);
        return store_.ReadState(held, StoreNow());
      },
      [this, held](Machine& on, const State& state) {
        const int64_t local_ns = on.Local(now_ns_);
        if (state.ok()) {
          SimulatedBucket& bucket = on.buckets[held.target] = {};
          bucket.Restore(state->has_value() ? (*state)->whole : "", local_ns);
          if (TakeoverOf(held, *state) == Takeover::kLearning &&
              options_.broken != Broken::kLearning) {
            bucket.Learn(budget_, local_ns);
          }
        }
        on.protocol.OnTaken(held, state.status(), local_ns);
        Wake(on);
      },
      absl::DeadlineExceededError("the store does not answer"));
}

void Simulation::Write(Machine& machine, const Held& held, bool is_final,
                       std::function<void(Machine&, const absl::Status&)> then) {
  const std::string bytes = machine.buckets[held.target].Save(budget_, machine.Local(now_ns_));
  const uint64_t sequence = ++machine.writes;
  CallStore<absl::Status>(
      machine,
      [this, held, bytes, sequence, is_final, index = machine.index] {
        if (absl::Status status = StatesOf(index); !status.ok()) return status;
        return store_.WriteState({.target = held.target,
                                  .generation = held.generation,
                                  .sequence = sequence,
                                  .age = absl::ZeroDuration(),
                                  .is_final = is_final,
                                  .bytes = bytes},
                                 StoreNow());
      },
      std::move(then), absl::DeadlineExceededError("the store does not answer"));
}

void Simulation::DoSave(Machine& machine, const Held& held) {
  Write(machine, held, true, [this, held](Machine& on, const absl::Status& status) {
    on.protocol.OnSaved(held, status, on.Local(now_ns_));
    Wake(on);
  });
}

void Simulation::DoPassOn(Machine& machine, const Held& held) {
  using State = absl::StatusOr<std::optional<StoredState>>;
  const uint64_t sequence = ++machine.writes;
  CallStore<absl::Status>(
      machine,
      [this, held, sequence, index = machine.index] {
        if (absl::Status status = StatesOf(index); !status.ok()) return status;
        const State state = store_.ReadState(held, StoreNow());
        if (!state.ok()) return state.status();
        return store_.WriteState(
            {.target = held.target,
             .generation = held.generation,
             .sequence = sequence,
             .age = absl::ZeroDuration(),
             .is_final = TakeoverOf(held, *state) != Takeover::kLearning,
             .bytes = state->has_value() ? std::string_view((*state)->whole) : std::string_view()},
            StoreNow());
      },
      [this, held](Machine& on, const absl::Status& status) {
        on.protocol.OnSaved(held, status, on.Local(now_ns_));
        Wake(on);
      },
      absl::DeadlineExceededError("the store does not answer"));
}

void Simulation::WriteStates(int machine, uint64_t process) {
  Machine& on = *machines_[static_cast<size_t>(machine)];
  if (on.process != process) return;
  for (const auto& [target, holding] : on.protocol.holdings()) {
    if (holding.phase != Phase::kServing) continue;
    Write(on, {target, holding.generation}, false, [](Machine&, const absl::Status&) {});
  }
  On(machine, now_ns_ + on.TrueSpan(kStateEvery),
     [this, machine, process](Machine&) { WriteStates(machine, process); });
}

absl::Status Simulation::StatesOf(int machine) const {
  return machines_[static_cast<size_t>(machine)]->is_cut_from_states
             ? absl::PermissionDeniedError("permission denied for table state")
             : absl::OkStatus();
}

void Simulation::TryStates(int machine, uint64_t process) {
  Machine& on = *machines_[static_cast<size_t>(machine)];
  if (on.process != process) return;
  CallStore<absl::Status>(
      on, [this, machine] { return StatesOf(machine); },
      [this](Machine& now, const absl::Status& status) {
        if (now.protocol.OnStatesTried(status, now.Local(now_ns_))) Wake(now);
      },
      absl::DeadlineExceededError("the store does not answer"));
  On(machine, now_ns_ + on.TrueSpan(kStateTryEvery),
     [this, machine, process](Machine&) { TryStates(machine, process); });
}

bool Simulation::IsLost(const Machine& from, const Machine& to) {
  return Happens(loss_) || from.is_cut_from_peers || to.is_cut_from_peers;
}

bool Simulation::Agrees(Machine& machine, const KeepQuestion& question) const {
  if (options_.broken == Broken::kPromise) return !machine.protocol.round_status().ok();
  return machine.protocol.Agree(question, machine.Local(now_ns_)).ok();
}

bool Simulation::IsAgreed(Machine& machine, const std::string& by, bool agrees) const {
  machine.agree[by] = agrees;
  if (options_.broken != Broken::kAll) return agrees;
  const auto all = static_cast<size_t>(
      std::ranges::count_if(machine.agree, [](const auto& answer) { return answer.second; }));
  return 2 * all >= machine.agree.size();
}

void Simulation::DoAskToKeep(Machine& machine, const AskToKeep& ask) {
  const int64_t started_ns = machine.Local(now_ns_);
  auto is_done = std::make_shared<bool>(false);
  const auto finish = [this, is_done, ask, started_ns](Machine& on, bool agrees) {
    if (std::exchange(*is_done, true)) return;
    on.protocol.OnKeepAnswer(ask.to.name, ask.asking, IsAgreed(on, ask.to.name, agrees),
                             started_ns);
    Wake(on);
  };
  const KeepQuestion question{.to = ask.to.name,
                              .name = machine.protocol.options().name,
                              .incarnation = machine.protocol.options().incarnation,
                              .held = ask.held};
  const int index = machine.index;
  const uint64_t process = machine.process;
  for (const auto& to : machines_) {
    if (to->protocol.options().name != ask.to.name || IsLost(machine, *to)) continue;
    On(to->index, now_ns_ + Delay(), [this, index, process, question, finish](Machine& asked) {
      const bool agrees = Agrees(asked, question);
      const Machine& from = *machines_[static_cast<size_t>(index)];
      if (from.process != process || IsLost(asked, from)) return;
      On(index, now_ns_ + Delay(), [finish, agrees](Machine& on) { finish(on, agrees); });
    });
  }
  On(index,
     now_ns_ + machine.TrueSpan(absl::ToInt64Nanoseconds(machine.protocol.options().period())),
     [finish](Machine& on) { finish(on, false); });
}

void Simulation::DoTell(Machine& machine, const Tell& tell) {
  for (const auto& to : machines_) {
    if (to->protocol.options().name != tell.to.name || IsLost(machine, *to)) continue;
    On(to->index, now_ns_ + Delay(), [this, tell](Machine& on) {
      on.protocol.OnTold(tell.owner_incarnation, tell.held, on.Local(now_ns_));
      Wake(on);
    });
  }
}

void Simulation::Do(Machine& machine, const Action& action) {
  if (const auto* round = std::get_if<StartRound>(&action)) return DoRound(machine, round->request);
  if (const auto* take = std::get_if<Take>(&action)) return DoTake(machine, take->held);
  if (const auto* save = std::get_if<Save>(&action)) return DoSave(machine, save->held);
  if (const auto* pass = std::get_if<PassOn>(&action)) return DoPassOn(machine, pass->held);
  if (const auto* measure = std::get_if<Measure>(&action)) return DoMeasure(machine, *measure);
  if (const auto* tell = std::get_if<Tell>(&action)) return DoTell(machine, *tell);
  if (const auto* ask = std::get_if<AskToKeep>(&action)) return DoAskToKeep(machine, *ask);
  machine.buckets.erase(std::get<Drop>(action).held.target);
}

// Somebody asks each server about each target, now and then for a whole lot.
void Simulation::Caller() {
  for (const std::string& target : targets_) {
    CheckOwners(target);
    if (!Happens(0.1)) continue;
    for (const auto& machine : machines_) {
      if (machine->Decides(target, now_ns_)) Ask(*machine, target);
    }
  }
  After(Uniform(0.02, 0.2), [this] { Caller(); });
}

void Simulation::Ask(Machine& machine, const std::string& target) {
  SimulatedBucket& bucket = machine.buckets[target];
  const int64_t local_ns = machine.Local(now_ns_);
  for (int check = 0; check < kChecksAtOnce && bucket.Admit(budget_, local_ns); ++check) {
    ++admitted_;
    fingerprint_ = CombineHash(fingerprint_, static_cast<uint64_t>(now_ns_));
    const double beyond = promises_.at(target).Admitted(now_ns_);
    if (beyond > 0) Violate(absl::StrCat(target, " was admitted ", beyond, " more than promised"));
  }
}

void Simulation::CheckOwners(const std::string& target) {
  int deciders = 0;
  for (const auto& machine : machines_) {
    deciders += machine->Decides(target, now_ns_) ? 1 : 0;
    kept_ += machine->Keeps(target, now_ns_) ? 1 : 0;
  }
  if (deciders > 0 || !IsToBeOwned(target)) last_owned_ns_[target] = now_ns_;
  if (is_calm_ && now_ns_ - std::max(calm_since_ns_, last_owned_ns_[target]) > NoOwnerAtMost()) {
    Violate(absl::StrCat(target, " has no owner though nothing is wrong"));
  }
  if (deciders > 1) Violate(absl::StrCat(target, " has ", deciders, " that admit"));
}

void Simulation::Run(absl::Duration span) {
  const int64_t end_ns = now_ns_ + absl::ToInt64Nanoseconds(span);
  while (violation_.empty() && !events_.empty() && events_.top().at_ns <= end_ns) {
    const Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    event.what();
  }
}

}  // namespace headgate::cluster
