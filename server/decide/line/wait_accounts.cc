#include "server/decide/line/wait_accounts.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "server/decide/line/line.h"
#include "server/decide/line/line_table.h"
#include "server/decide/line/ticket_table.h"
#include "server/decide/line/waiting_check.h"

namespace headgate::line {
namespace {

constexpr size_t kSubjectsAtOnce = 128;  // subjects in one Take

// A subject's key is odd; that of all the others on a target is not.
uint64_t KeyOfOthers(const Line& line) { return absl::HashOf(line.names.target) & ~uint64_t{1}; }

WaitAccount* AccountAt(WaitingSubject& subject, uint64_t line_key) {
  for (WaitAccount& account : subject.accounts) {
    if (account.line_key == line_key) return &account;
  }
  return nullptr;
}

// With its place in the table, and an account or so.
int64_t BytesOf(const WaitingSubject& subject) {
  constexpr size_t kAround = 96;
  const WaitSubject& names = *subject.subject;
  return static_cast<int64_t>(sizeof(WaitingSubject) + sizeof(WaitSubject) + names.identity.size() +
                              names.target.size() + kAround);
}

// What it has counted since the last round, and what is waited in it now.
Waits TakeWaits(WaitAccount& account, const TicketTable& tickets, int64_t now_ns) {
  Waits waits = std::exchange(account.waits, {});
  // A Check that came while `now` was read has waited for less than nothing: it is told later.
  const auto more_ns = static_cast<int64_t>(account.WaitedBy(now_ns) - account.taken_ns);
  waits.waited_ns = std::max<int64_t>(more_ns, 0);
  account.taken_ns += static_cast<uint64_t>(waits.waited_ns);
  if (!account.tickets.empty()) {
    const int64_t since_ns = tickets.Find(*account.tickets.begin())->since_ns;
    waits.longest_ns = std::max(waits.longest_ns, now_ns - since_ns);
  }
  return waits;
}

}  // namespace

void WaitAccounts::CountHeld(WaitingSubject& subject, int64_t now_ns) {
  const int64_t held_ns = now_ns - subject.held_until_ns;
  if (held_ns <= 0) return;
  subject.held_until_ns = now_ns;
  if (subject.waiting == 0) return;
  for (WaitAccount& account : subject.accounts) {
    const double share =
        static_cast<double>(account.tickets.size()) / static_cast<double>(subject.waiting);
    account.waits.held_ns += static_cast<int64_t>(share * static_cast<double>(held_ns));
  }
}

WaitingSubject& WaitAccounts::SubjectOf(const WaitingCheck& waiting, const Line& line,
                                        uint64_t key) {
  const bool is_one_of_many = subjects_.size() >= most_ && !by_key_.contains(key);
  if (is_one_of_many) key = KeyOfOthers(line);
  const auto [found, is_new] = by_key_.try_emplace(key, nullptr);
  if (!is_new) return *found->second;
  WaitingSubject& subject = *subjects_.emplace_back(std::make_unique<WaitingSubject>());
  found->second = &subject;
  subject.key = key;
  subject.held_until_ns = waiting.since_ns;
  subject.subject = std::make_shared<WaitSubject>(
      WaitSubject{.identity = is_one_of_many ? "*" : std::string(waiting.asked.request().identity),
                  .target = line.names.target,
                  .folded = is_one_of_many});
  held_.Add(BytesOf(subject));
  return subject;
}

void WaitAccounts::NoteCause(WaitAccount& account, const Line& line) {
  account.cause = line.cause;
  account.observed = line.observed;
  account.limit_value = line.limit_value;
}

void WaitAccounts::Join(WaitingCheck& waiting, const Line& line, int64_t now_ns) {
  WaitingSubject& subject = *waiting.subject;
  CountHeld(subject, now_ns);
  WaitAccount* account = AccountAt(subject, line.key);
  if (account == nullptr) {
    account = &subject.accounts.emplace_back();
    account->line_key = line.key;
    NoteCause(*account, line);
  }
  account->tickets.insert(waiting.ticket);
  account->since_sum += static_cast<uint64_t>(now_ns);
  waiting.in_line_since_ns = now_ns;
  ++subject.waiting;
}

void WaitAccounts::Begin(WaitingCheck& waiting, const Line& line, uint64_t subject_key) {
  waiting.subject = &SubjectOf(waiting, line, subject_key);
  Join(waiting, line, waiting.since_ns);
  ++AccountAt(*waiting.subject, line.key)->waits.began;
}

WaitAccount& WaitAccounts::Part(WaitingCheck& waiting, int64_t now_ns) {
  WaitingSubject& subject = *waiting.subject;
  CountHeld(subject, now_ns);
  --subject.waiting;
  const auto account =
      std::find_if(subject.accounts.begin(), subject.accounts.end(),
                   [&](const WaitAccount& each) { return each.tickets.contains(waiting.ticket); });
  account->tickets.erase(waiting.ticket);
  account->since_sum -= static_cast<uint64_t>(waiting.in_line_since_ns);
  account->ended_ns += static_cast<uint64_t>(now_ns - waiting.in_line_since_ns);
  return *account;
}

void WaitAccounts::Move(WaitingCheck& waiting, const Line& line, int64_t now_ns) {
  now_ns = std::max(now_ns, waiting.in_line_since_ns);
  Part(waiting, now_ns);
  Join(waiting, line, now_ns);
}

void WaitAccounts::Finish(WaitingCheck& waiting, const End& end) {
  const int64_t at_ns = std::max(end.at_ns, waiting.in_line_since_ns);
  Part(waiting, at_ns).waits.CountEnd(end.end, end.answered, at_ns - waiting.since_ns);
}

// From the last subject to the first: what is forgotten is replaced by one that was looked at, and
// who comes meanwhile is left to the next round.
bool WaitAccounts::Take(Round& round, const Tables& tables, std::vector<CountedWaits>& counted) {
  round.left = std::min(round.left, subjects_.size());
  const size_t end = round.left - std::min(round.left, kSubjectsAtOnce);
  for (; round.left > end; --round.left) {
    std::unique_ptr<WaitingSubject>& place = subjects_[round.left - 1];
    WaitingSubject& subject = *place;
    CountHeld(subject, round.now_ns);
    for (WaitAccount& account : subject.accounts) {
      Waits waits = TakeWaits(account, tables.tickets, round.now_ns);
      if (!waits.empty()) {
        counted.push_back(
            {subject.subject, account.cause, account.observed, account.limit_value, waits});
      }
      const Line* const line = tables.lines.Find(account.line_key);
      if (line != nullptr) NoteCause(account, *line);
    }
    // Whoever left at an instant before this round's may have been taken for a little too long.
    const auto is_over = [&](const WaitAccount& account) {
      const auto more_ns = static_cast<int64_t>(account.WaitedBy(round.now_ns) - account.taken_ns);
      return account.tickets.empty() && more_ns <= 0;
    };
    subject.accounts.erase(
        std::remove_if(subject.accounts.begin(), subject.accounts.end(), is_over),
        subject.accounts.end());
    if (!subject.accounts.empty()) continue;
    by_key_.erase(subject.key);
    held_.Add(-BytesOf(subject));
    place = std::move(subjects_.back());
    subjects_.pop_back();
  }
  return round.left > 0;
}

}  // namespace headgate::line
