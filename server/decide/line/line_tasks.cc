#include "server/decide/line/line_tasks.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace headgate::line {
namespace {

// Of lines that have changed, marked for each task.
constexpr size_t kMarked = 256;
constexpr int64_t kRememberedNs = 10'000'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;
// Lines that nobody is in, of those who remember shares.
constexpr size_t kMaxLines = size_t{1} << 17;

}  // namespace

int64_t LineTasks::NextInstant() const {
  if (changed_ || !changed_lines_.empty() || !to_ask_.empty() || !to_price_.empty()) {
    return kAtOnce;
  }
  return std::min({lines_.NextDue(), tickets_.NextDeadline(), places_.NextEnd()});
}

// Those who came first are last, and so are taken first. The tables' own order hangs on where they
// are in memory.
std::vector<uint64_t> LineTasks::AllTickets() const {
  std::vector<uint64_t> tickets;
  tickets.reserve(tickets_.all().size());
  for (const auto& [ticket, waiting] : tickets_.all()) tickets.push_back(ticket);
  std::sort(tickets.begin(), tickets.end(), std::greater<>());
  return tickets;
}

void LineTasks::AskAllWaiters() { to_ask_ = AllTickets(); }

void LineTasks::ExamineAll() { to_price_ = AllTickets(); }

void LineTasks::Price(const std::vector<WaitingCheck*>& waiting) {
  for (const WaitingCheck* each : waiting) to_price_.push_back(each->ticket);
}

Task LineTasks::Begin(Work work, WaitingCheck& waiting) {
  waiting.in_examination = true;
  return {.work = work, .waiting = &waiting};
}

Task LineTasks::TakeLast(std::vector<uint64_t>& tickets, Work work) {
  WaitingCheck* const waiting = tickets_.Find(tickets.back());
  tickets.pop_back();
  return waiting == nullptr ? Task{.work = Work::kDone} : Begin(work, *waiting);
}

Task LineTasks::Next(const Now& now) {
  const int64_t now_ns = now.monotonic_ns;
  if (tickets_.NextDeadline() <= now_ns) return Begin(Work::kExamine, tickets_.FirstToEnd());
  MarkChanged();
  if (places_.NextEnd() <= now_ns) {
    places_.DropFirstToEnd();
    return {.work = Work::kDone};
  }
  if (!to_ask_.empty()) return TakeLast(to_ask_, Work::kAskWaiter);
  if (lines_.NextDue() <= now_ns) return LookAtLine(lines_.FirstDue(), now);
  if (!to_price_.empty()) return TakeLast(to_price_, Work::kExamine);
  return {};
}

void LineTasks::MarkChanged() {
  if (changed_) {
    changed_ = false;
    changed_lines_.clear();
    for (const auto& [key, line] : lines_.all()) changed_lines_.push_back(key);
    // The table's own order hangs on where it is in memory.
    std::sort(changed_lines_.begin(), changed_lines_.end());
  }
  for (size_t i = 0; i < kMarked && !changed_lines_.empty(); ++i) {
    Line* const line = lines_.Find(changed_lines_.back());
    changed_lines_.pop_back();
    if (line == nullptr) continue;
    line->look_at_all = !line->is_bucket;
    if (line->is_bucket) ExamineFirstBehindPlace(*line);
    // Gates first: who waits there may be before those at the bucket behind it.
    lines_.SetDue(*line, line->is_bucket ? kAtOnce + 1 : kAtOnce);
  }
}

void LineTasks::ExamineFirstBehindPlace(const Line& line) {
  const std::optional<uint64_t> head = line.queue.Head();
  if (line.waiting == 0 || !head.has_value() || places_.Get(*head) == nullptr) return;
  uint64_t first = 0;
  for (const uint64_t id : line.queue.Ids()) {
    if (tickets_.Find(id) != nullptr && (first == 0 || id < first)) first = id;
  }
  if (first != 0) to_price_.push_back(first);
}

Task LineTasks::LookAtLine(Line& line, const Now& now) {
  const std::optional<uint64_t> head = line.queue.Head();
  line.head_asked = head;
  line.patience.Pass(now.monotonic_ns);
  if (!head.has_value()) {
    LookAtEmptyLine(line, now);
    return {.work = Work::kDone};
  }
  if (Place* const place = places_.Get(*head); place != nullptr) {
    places_.OfferTurn(line, *place, now.monotonic_ns);
    return {.work = Work::kDone};
  }
  WaitingCheck& waiting = *tickets_.Find(*head);
  waiting.has_turn = true;
  // What happens meanwhile makes it due earlier.
  lines_.SetDue(line, kNever);
  return Begin(Work::kExamine, waiting);
}

void LineTasks::LookAtEmptyLine(Line& line, const Now& now) {
  line.look_at_all = false;
  if (!line.to_requeue.empty()) {
    Requeue(line);
    return lines_.SetDue(line, now.monotonic_ns + kSecondNs);
  }
  const int64_t forgotten_at_ns = line.empty_since_ns + kRememberedNs;
  const bool remembers = line.is_bucket && lines_.size() <= kMaxLines;
  if (line.held_ns > 0 || (remembers && now.monotonic_ns < forgotten_at_ns)) {
    const int64_t next_ns = std::max(forgotten_at_ns, now.monotonic_ns + kSecondNs);
    // A clock that was set back does not make it remember for longer.
    return lines_.SetDue(line, std::min(next_ns, now.monotonic_ns + kRememberedNs));
  }
  places_.DropAllOf(line);
  lines_.Erase(line);
}

void LineTasks::Requeue(Line& line) {
  for (const Requeued& each : std::exchange(line.to_requeue, {})) {
    WaitingCheck* const waiting = tickets_.Find(each.ticket);
    if (waiting == nullptr || !waiting->awaits_requeue || waiting->key != line.key) continue;
    waiting->awaits_requeue = false;
    line.queue.Push(each.ticket, each.flow.Flow(), waiting->cost, each.ticket);
  }
  // All have just been looked at.
  line.head_asked = line.queue.Head();
}

}  // namespace headgate::line
