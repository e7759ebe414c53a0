#include "server/line/waiting_lines.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/hash/hash.h"
#include "common/identity.h"
#include "common/strings.h"
#include "server/engine/policy.h"
#include "server/line/curable.h"

namespace headgate::line {
namespace {

using engine::CheckAnswer;
using engine::CheckRequest;
using engine::Violation;

size_t MaxOfCaller(const LineOptions& options) {
  const double most = static_cast<double>(options.max_waiting) * options.max_waiting_share;
  return std::max<size_t>(static_cast<size_t>(most), 1);
}

size_t KeptForFew(const LineOptions& options) {
  const double share = std::min(0.125, (1 - options.max_waiting_share) / 2);
  return static_cast<size_t>(static_cast<double>(options.max_waiting) * share);
}

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

// The bucket's name, as people know it; empty: of the whole budget.
std::string BucketName(const Violation& violation, const engine::BudgetSpec& budget,
                       const CheckRequest& request) {
  if (const auto* by_tag = std::get_if<engine::SplitByTag>(&budget.split); by_tag != nullptr) {
    for (const engine::Tag& tag : request.tags) {
      if (tag.key == by_tag->key) return std::string(tag.value);
    }
    return "";
  }
  if (violation.level <= 0) return "";
  Identity identity;
  if (!Identity::Parse(request.identity, 0, identity).ok()) return "";
  return std::string(identity.Level(std::min<int>(violation.level, identity.depth())));
}

void NameLine(Line& line, const Violation& violation, const CheckAnswer& answer,
              const CheckRequest& request) {
  line.target = std::string(request.target);
  if (answer.policy == nullptr) return;
  const engine::Policy& policy = *answer.policy;
  if (line.target.empty() && !policy.targets.empty()) line.target = policy.targets[0].name;
  if (violation.budget < policy.budget_specs.size()) {
    line.budget = policy.budget_specs[violation.budget].name;
    line.bucket_name = BucketName(violation, policy.budget_specs[violation.budget], request);
  }
  if (violation.limit == engine::Limit::kHealth && violation.profile < policy.profiles.size()) {
    line.profile = policy.profiles[violation.profile].name;
  }
  if (violation.rule != engine::kNoRule) line.rule = std::string(policy.rules.name(violation.rule));
}

}  // namespace

WaitingLines::WaitingLines(const LineOptions& options, Examine examine)
    : options_(options),
      max_of_caller_(MaxOfCaller(options)),
      kept_for_few_(KeptForFew(options)),
      max_places_(std::min<size_t>(options.max_waiting, 16384)),
      examine_(std::move(examine)) {}

WaitingLines::~WaitingLines() = default;

Line* WaitingLines::FindLine(uint64_t key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second.get();
}

Line& WaitingLines::LineOf(const Violation& violation, const CheckAnswer& answer,
                           const CheckRequest& request) {
  std::unique_ptr<Line>& line = by_key_[violation.line_key];
  if (line == nullptr) {
    line = std::make_unique<Line>(violation.line_key,
                                  FairQueue::Options{.priority_floor = options_.priority_floor});
    line->is_bucket = IsOfBucket(violation.limit);
    NameLine(*line, violation, answer, request);
    if (answer.policy != nullptr) line->priced_by = answer.policy->version;
    // relaxed: whoever misses the new line is refused by the limit itself, as those in it were.
    lines_.fetch_add(1, std::memory_order_relaxed);
  }
  // Those who are behind others say nothing about what the others wait for.
  if (violation.limit != engine::Limit::kLine) line->limit = violation.limit;
  return *line;
}

Entered WaitingLines::Enter(const CheckRequest& request, const CheckAnswer& denial, Now now,
                            Wait wait, uint64_t* ticket) {
  const Violation* const binding = BindingViolation(denial);
  if (binding == nullptr) return Entered::kNotCurable;
  auto waiting = std::make_unique<Waiting>(request);
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    if (closed_) return Entered::kClosed;
    waiting->caller = CallerOf(request, denial.flow);
    if (const Entered room = RoomFor(waiting->caller); room != Entered::kWaits) return room;
    now_ns_ = now.monotonic_ns;
    ++callers_[waiting->caller];
    waiting->wait = std::move(wait);
    waiting->since_ns = now.monotonic_ns;
    waiting->ticket = next_id_++;
    *ticket = waiting->ticket;
    Waiting& its = *waiting;
    tickets_.emplace(its.ticket, std::move(waiting));
    deadlines_.insert({its.wait.until_ns, its.ticket});
    ++stats_.entered;
    // Room may have come since it was refused: then nobody knew that there is a line to be told.
    Touch(Join(its, *binding, denial));
    wake = TakeWake();
  }
  WakeIf(wake);
  return Entered::kWaits;
}

Entered WaitingLines::RoomFor(uint64_t caller) {
  const auto found = callers_.find(caller);
  const size_t its = found == callers_.end() ? 0 : found->second;
  const bool has_few = its < std::max<size_t>(kept_for_few_ / 8, 1);
  if (tickets_.size() >= options_.max_waiting - (has_few ? 0 : kept_for_few_)) {
    ++stats_.refused_full;
    return Entered::kFull;
  }
  if (its < max_of_caller_) return Entered::kWaits;
  ++stats_.refused_caller_full;
  return Entered::kCallerFull;
}

void WaitingLines::TellWhyNot(Entered entered, engine::CheckAnswer& denial) const {
  if (options_.max_waiting == 0) return;  // nobody waits at all
  if (entered == Entered::kCallerFull) {
    DenyForWantOfRoom(max_of_caller_, max_of_caller_, denial);
  } else if (entered == Entered::kFull) {
    MutexLock lock(&mutex_);
    DenyForWantOfRoom(tickets_.size(), options_.max_waiting, denial);
  }
}

void WaitingLines::TurnAway(size_t most, engine::CheckAnswer& denial) {
  if (options_.max_waiting == 0) return;
  DenyForWantOfRoom(most, most, denial);
  MutexLock lock(&mutex_);
  ++stats_.refused_full;
}

bool WaitingLines::Leave(uint64_t ticket) {
  std::unique_ptr<Waiting> gone;
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return false;
    if (found->second->under == Under::kExamination) {
      found->second->left = true;
      return false;
    }
    CountEnd(*found->second, WaitEnd::kLeft, std::max(now_ns_, found->second->since_ns));
    gone = Remove(*found->second);
    wake = TakeWake();
  }
  WakeIf(wake);
  return true;
}

void WaitingLines::AskAgain() {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    to_ask_.clear();
    for (const auto& [ticket, waiting] : tickets_) to_ask_.push_back(ticket);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Close(const absl::Status& status, Now now) {
  std::vector<std::unique_ptr<Waiting>> all;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    std::vector<Waiting*> free;
    for (const auto& [ticket, waiting] : tickets_) {
      if (waiting->under == Under::kNothing) {
        free.push_back(waiting.get());
      } else {
        waiting->ended = status;
      }
    }
    // In the order of their arrival, whatever the table's is.
    std::sort(free.begin(), free.end(),
              [](const Waiting* a, const Waiting* b) { return a->ticket < b->ticket; });
    for (Waiting* waiting : free) {
      all.push_back(Depart(*waiting, status, WaitEnd::kEnded, now.monotonic_ns).waiting);
    }
  }
  CheckAnswer none;
  for (const std::unique_ptr<Waiting>& waiting : all) {
    waiting->wait.waiter->Answer(waiting->wait.place, status, waiting->Request(), none, now);
  }
}

Line& WaitingLines::Join(Waiting& waiting, const Violation& binding, const CheckAnswer& answer) {
  Line& line = LineOf(binding, answer, waiting.Request());
  waiting.key = line.key;
  waiting.cost = CostAtLine(binding, answer);
  waiting.refused_again = 0;
  waiting.expected_ns = kNever;
  // In the queue it is its place that counts: what it held would hold up those before it.
  ReleaseTurn(waiting, line);
  line.queue.Push(waiting.ticket, answer.flow, waiting.cost, waiting.ticket);
  ++line.waiting;
  return line;
}

engine::LineFlow WaitingLines::FlowOf(const Line& line, const Waiting& waiting) {
  if (!waiting.beside) return line.queue.FlowOf(waiting.ticket);
  return std::find_if(line.beside.begin(), line.beside.end(),
                      [&](const Beside& each) { return each.ticket == waiting.ticket; })
      ->flow.Flow();
}

void WaitingLines::Part(Waiting& waiting) {
  Line* const line = FindLine(waiting.key);
  if (line == nullptr) return;
  line->queue.Remove(waiting.ticket);
  waiting.beside = false;  // whoever puts those beside the queue back finds it gone
  if (--line->waiting == 0) line->empty_since_ns = now_ns_;
  Touch(*line);
}

void WaitingLines::ReleaseTurn(Waiting& waiting, Line& line) {
  const Turn* const turn = waiting.TurnAt(line.key);
  if (turn == nullptr) return;
  line.held_ns -= turn->held_ns;
  waiting.turns.erase(waiting.turns.begin() + (turn - waiting.turns.data()));
}

void WaitingLines::ReleaseTurns(Waiting& waiting) {
  for (const Turn& turn : waiting.turns) {
    Line* const line = turn.held_ns == 0 ? nullptr : FindLine(turn.key);
    if (line == nullptr) continue;
    line->held_ns -= turn.held_ns;
    SetDue(*line, kAtOnce);
  }
  waiting.turns.clear();
}

void WaitingLines::CountEnd(const Waiting& waiting, WaitEnd end, int64_t now_ns) {
  stats_.waits[static_cast<size_t>(end)].Add(absl::Nanoseconds(now_ns - waiting.since_ns));
}

std::unique_ptr<Waiting> WaitingLines::Remove(Waiting& waiting) {
  ReleaseTurns(waiting);
  Part(waiting);
  deadlines_.erase({waiting.wait.until_ns, waiting.ticket});
  if (const auto caller = callers_.find(waiting.caller);
      caller != callers_.end() && --caller->second == 0) {
    callers_.erase(caller);
  }
  const auto found = tickets_.find(waiting.ticket);
  std::unique_ptr<Waiting> removed = std::move(found->second);
  tickets_.erase(found);
  return removed;
}

void WaitingLines::SetDue(Line& line, int64_t due_ns) {
  if (line.due_ns == due_ns) return;
  if (line.due_ns != kNever) agenda_.erase({line.due_ns, line.key});
  line.due_ns = due_ns;
  if (due_ns != kNever) agenda_.insert({due_ns, line.key});
}

void WaitingLines::Touch(Line& line) {
  if (line.queue.Head() != line.head_asked) SetDue(line, kAtOnce);
}

void WaitingLines::Forget(Line& line) {
  SetDue(line, kNever);
  std::vector<Place*> its;
  if (line.places > 0) {
    for (const auto& [id, place] : places_) {
      if (place->key == line.key) its.push_back(place.get());
    }
  }
  for (Place* place : its) DropPlace(*place);
  SetDue(line, kNever);
  by_key_.erase(line.key);
  // relaxed: as where it is counted up.
  lines_.fetch_sub(1, std::memory_order_relaxed);
}

int64_t WaitingLines::NextInstant() const {
  if (changed_ || !changed_lines_.empty() || !to_ask_.empty() || !to_price_.empty()) {
    return kAtOnce;
  }
  int64_t next = kNever;
  for (const absl::btree_set<Due>* instants : {&agenda_, &deadlines_, &place_ends_}) {
    if (!instants->empty()) next = std::min(next, instants->begin()->first);
  }
  return next;
}

bool WaitingLines::TakeWake() {
  if (advancing_) return false;  // it will see for itself
  const int64_t next = NextInstant();
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
