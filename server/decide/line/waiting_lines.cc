#include "server/decide/line/waiting_lines.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/hash/hash.h"
#include "server/decide/line/binding_limit.h"
#include "server/decide/line/examination_outcome.h"
#include "server/decide/line/place_in_line.h"
#include "server/decide/line/read_lines.h"

namespace headgate::line {
namespace {

using engine::CheckAnswer;
using engine::CheckRequest;
using engine::Violation;

constexpr int kTasksAtOnce = 64;  // in one call of Advance
constexpr int64_t kWhileAdvancingNs = 1'000'000;

void DenyForWantOfRoom(size_t waiting, size_t most, CheckAnswer& denial) {
  Violation& violation = denial.violations.emplace_back();
  violation.limit = engine::Limit::kLineFull;
  violation.observed = static_cast<double>(waiting);
  violation.limit_value = static_cast<double>(most);
  violation.retry_after = denial.retry_after;
  denial.reason = engine::Reason::kLineFull;
}

uint64_t CallerOf(const CheckRequest& request, const engine::LineFlow& flow) {
  if (request.caller.empty()) return flow.depth > 0 ? flow.levels[0].key : 0;
  return absl::HashOf(request.caller);
}

void CountRefused(Entered entered, LineStats& stats) {
  if (entered == Entered::kFull) ++stats.refused_full;
  if (entered == Entered::kCallerFull) ++stats.refused_caller_full;
}

}  // namespace

WaitingLines::WaitingLines(const LineOptions& options, Examine examine)
    : options_(options), examine_(std::move(examine)), state_(options, lines_, held_) {}

WaitingLines::~WaitingLines() = default;

Entered WaitingLines::EnterWatch(const CheckRequest& request, Wait wait, uint64_t* ticket) {
  const Entered entered = lease_watches_.Enter(request, std::move(wait), ticket);
  WakeIf(entered == Entered::kWaits);
  return entered;
}

Entered WaitingLines::Enter(const Refused& refused, Wait wait, uint64_t* ticket) {
  if (refused.request.IsWatch()) return EnterWatch(refused.request, std::move(wait), ticket);
  const Violation* const binding = BindingViolation(refused.denial);
  if (binding == nullptr) return Entered::kNotCurable;
  auto waiting = std::make_unique<WaitingCheck>(refused.request);
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    if (closed_) return Entered::kClosed;
    waiting->caller = CallerOf(refused.request, refused.denial.flow);
    if (const Entered room = state_.tickets.RoomFor(waiting->caller); room != Entered::kWaits) {
      CountRefused(room, state_.stats);
      return room;
    }
    state_.now_ns = refused.now.monotonic_ns;
    waiting->wait = std::move(wait);
    waiting->since_ns = refused.now.monotonic_ns;
    waiting->ticket = state_.lines.NewId();
    *ticket = waiting->ticket;
    WaitingCheck& its = state_.tickets.Add(std::move(waiting));
    ++state_.stats.entered;
    // Room may have come since it was refused: then nobody knew that there is a line to be told.
    Line& line = state_.lines.Join(its, *binding, refused.denial);
    state_.waits.Begin(its, line, refused.denial.subject_key);
    state_.lines.Touch(line);
    wake = TakeWake();
  }
  WakeIf(wake);
  return Entered::kWaits;
}

void WaitingLines::ExplainRefusal(Entered entered, CheckAnswer& denial) const {
  if (options_.max_waiting == 0) return;  // nobody waits at all
  MutexLock lock(&mutex_);
  const TicketTable& tickets = state_.tickets;
  if (entered == Entered::kCallerFull) {
    DenyForWantOfRoom(tickets.max_of_caller(), tickets.max_of_caller(), denial);
  } else if (entered == Entered::kFull) {
    DenyForWantOfRoom(tickets.size(), options_.max_waiting, denial);
  }
}

void WaitingLines::RefuseUnparked(size_t most, CheckAnswer& denial) {
  if (options_.max_waiting == 0) return;
  DenyForWantOfRoom(most, most, denial);
  MutexLock lock(&mutex_);
  CountRefused(Entered::kFull, state_.stats);
}

bool WaitingLines::Leave(uint64_t ticket, Now now) {
  if (ticket > LeaseWatches::kTicket) return lease_watches_.Leave(ticket);
  Departure departure;
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    WaitingCheck* const waiting = state_.tickets.Find(ticket);
    if (waiting == nullptr) return false;
    if (waiting->in_examination) {
      waiting->left = true;
      return false;
    }
    state_.now_ns = std::max(state_.now_ns, now.monotonic_ns);
    const int64_t at_ns = std::max(now.monotonic_ns, waiting->since_ns);
    departure = Depart(state_, *waiting, {absl::OkStatus(), WaitEnd::kLeft, at_ns});
    wake = TakeWake();
  }
  WakeIf(wake);
  return true;
}

int64_t WaitingLines::Advance(Now now) {
  {
    MutexLock lock(&mutex_);
    if (advancing_) return now.monotonic_ns + kWhileAdvancingNs;
    advancing_ = true;
    state_.now_ns = now.monotonic_ns;
  }
  for (int i = 0; i < kTasksAtOnce && Step(now); ++i) {
  }
  answer_.Clear();
  const int64_t watches_ns =
      lease_watches_.Advance(now, [&](const CheckRequest& request, CheckAnswer& answer) {
        return examine_(request, now, answer);
      });
  MutexLock lock(&mutex_);
  advancing_ = false;
  told_ns_ = std::max(state_.tasks.NextInstant(), now.monotonic_ns);
  return std::min(told_ns_, watches_ns);
}

bool WaitingLines::Step(const Now& now) {
  Task task;
  {
    MutexLock lock(&mutex_);
    task = state_.tasks.Next(now);
  }
  if (task.waiting == nullptr) return task.work != Work::kNone;
  WaitingCheck& waiting = *task.waiting;
  absl::Status status;
  if (task.work == Work::kExamine) {
    status = examine_(waiting.Request(), now, answer_);
  } else if (!waiting.wait.waiter->MayWait(waiting.Request())) {
    status = absl::PermissionDeniedError("the right to ask was withdrawn while the Check waited");
  }
  Departure departure;
  {
    MutexLock lock(&mutex_);
    departure = task.work == Work::kExamine
                    ? Conclude(state_, waiting, {status, answer_, now})
                    : ConcludeAsked(state_, waiting, std::move(status), now);
  }
  if (departure.waiting != nullptr) Answer(departure, now);
  return true;
}

void WaitingLines::Answer(const Departure& departure, const Now& now) {
  if (!departure.status.ok()) answer_.Clear();
  const Wait& wait = departure.waiting->wait;
  wait.waiter->Answer(wait.place, {departure.status, departure.waiting->Request(), answer_, now});
}

void WaitingLines::AskAgain() {
  bool wake = lease_watches_.AskAgain();
  {
    MutexLock lock(&mutex_);
    state_.tasks.AskAllWaiters();
    wake |= TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Close(const absl::Status& status, Now now) {
  lease_watches_.Close(status, now);
  std::vector<Departure> all;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    std::vector<WaitingCheck*> free;
    for (const auto& [ticket, waiting] : state_.tickets.all()) {
      if (waiting->in_examination) {
        waiting->ended = status;
      } else {
        free.push_back(waiting.get());
      }
    }
    // In the order of their arrival, whatever the table's is.
    std::sort(free.begin(), free.end(),
              [](const WaitingCheck* a, const WaitingCheck* b) { return a->ticket < b->ticket; });
    for (WaitingCheck* waiting : free) {
      all.push_back(Depart(state_, *waiting, {status, WaitEnd::kEnded, now.monotonic_ns}));
    }
  }
  CheckAnswer none;
  for (const Departure& departure : all) {
    const Wait& wait = departure.waiting->wait;
    wait.waiter->Answer(wait.place, {status, departure.waiting->Request(), none, now});
  }
}

bool WaitingLines::AnybodyWaitsFor(std::string_view target) const {
  MutexLock lock(&mutex_);
  return state_.tickets.HasOfTarget(target);
}

LineStats WaitingLines::ReadStats(Now now) const {
  MutexLock lock(&mutex_);
  LineStats stats = line::ReadStats(state_, now.monotonic_ns);
  stats.max_waiting = options_.max_waiting;
  stats.max_waiting_share = options_.max_waiting_share;
  stats.watches = lease_watches_.size();
  return stats;
}

LinesView WaitingLines::ReadLines(const LineQuery& query, Now now) const {
  MutexLock lock(&mutex_);
  return line::ReadLines(state_, query, now.monotonic_ns);
}

PlaceView WaitingLines::ReadPlace(const Newcomer& newcomer, Now now) {
  MutexLock lock(&mutex_);
  return line::ReadPlace(state_, newcomer, now.monotonic_ns);
}

void WaitingLines::CollectWaits(Now now, absl::FunctionRef<void(const CountedWaits&)> take) {
  std::vector<CountedWaits> counted;
  WaitAccounts::Round round(now.monotonic_ns);
  for (bool more = true; more; counted.clear()) {
    {
      MutexLock lock(&mutex_);
      more = state_.waits.Take(round, {state_.lines, state_.tickets}, counted);
    }
    for (const CountedWaits& each : counted) take(each);
  }
}

engine::PlaceInLine WaitingLines::Arrive(const engine::LineArrival& arrival) {
  bool wake = false;
  engine::PlaceInLine standing;
  {
    MutexLock lock(&mutex_);
    Line* const line = state_.lines.Find(arrival.key);
    if (line == nullptr || !line->is_bucket) return {};
    line->bucket.Note(arrival);
    standing = PlaceInLineOf(state_, *line, arrival);
    wake = TakeWake();
  }
  WakeIf(wake);
  return standing;
}

void WaitingLines::Admitted(const engine::LineAdmission& admission) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = state_.lines.Find(admission.key);
    if (line == nullptr) return;
    line->Charge(admission.flow, admission.cost_ns);
    if (admission.ticket == 0) {
      Place* const place = state_.places.Find(admission.key, admission.subject_key);
      if (place != nullptr) state_.places.Drop(*place);
    }
    state_.lines.Touch(*line);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = state_.lines.Find(key);
    if (line == nullptr) return;
    line->queue.Adjust(leaf_key, static_cast<double>(delta_ns));
    line->bucket.debt_ns += delta_ns;
    if (delta_ns < 0 && line->queue.size() > 0) state_.lines.SetDue(*line, kAtOnce);
    state_.lines.Touch(*line);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::RoomFreed(uint64_t key) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = state_.lines.Find(key);
    if (line == nullptr || line->queue.size() == 0) return;
    state_.lines.SetDue(*line, kAtOnce);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Changed() { Change(false); }

void WaitingLines::PolicyChanged() { Change(true); }

void WaitingLines::Change(bool examines_all) {
  bool wake = lease_watches_.Changed();
  {
    MutexLock lock(&mutex_);
    if (state_.lines.size() > 0) {
      state_.tasks.ChangeAll();
      if (examines_all) state_.tasks.ExamineAll();
      wake |= TakeWake();
    }
  }
  WakeIf(wake);
}

bool WaitingLines::TakeWake() {
  if (advancing_) return false;  // it will see for itself
  const int64_t next = state_.tasks.NextInstant();
  if (next >= told_ns_) return false;
  told_ns_ = next;
  return true;
}

void WaitingLines::WakeIf(bool wake) const {
  if (!wake) return;
  const MutexLock lock(&wake_mutex_);
  if (wake_) wake_();
}

}  // namespace headgate::line
