#include "server/decide/line/ticket_table.h"

#include <algorithm>

namespace headgate::line {
namespace {

size_t MaxOfCaller(const LineOptions& options) {
  const double most = static_cast<double>(options.max_waiting) * options.max_waiting_share;
  return std::max<size_t>(static_cast<size_t>(most), 1);
}

size_t KeptForFew(const LineOptions& options) {
  const double share = std::min(0.125, (1 - options.max_waiting_share) / 2);
  return static_cast<size_t>(static_cast<double>(options.max_waiting) * share);
}

// One less; what is counted no more takes no memory.
template <typename Counts, typename Key>
void CountOut(Counts& counts, const Key& key) {
  const auto counted = counts.find(key);
  if (counted != counts.end() && --counted->second == 0) counts.erase(counted);
}

// What one who waits takes, with its places in the queue, among the deadlines and in an account.
int64_t BytesOf(const WaitingCheck& waiting) {
  constexpr size_t kPlaces = 190;
  return static_cast<int64_t>(sizeof(WaitingCheck) + waiting.asked.size() + kPlaces);
}

}  // namespace

TicketTable::TicketTable(const LineOptions& options, HeldBytes& held)
    : max_waiting_(options.max_waiting),
      max_of_caller_(MaxOfCaller(options)),
      kept_for_few_(KeptForFew(options)),
      held_(held) {}

Entered TicketTable::RoomFor(uint64_t caller) const {
  const auto found = of_caller_.find(caller);
  const size_t its = found == of_caller_.end() ? 0 : found->second;
  const bool has_few = its < std::max<size_t>(kept_for_few_ / 8, 1);
  if (by_ticket_.size() >= max_waiting_ - (has_few ? 0 : kept_for_few_)) return Entered::kFull;
  return its < max_of_caller_ ? Entered::kWaits : Entered::kCallerFull;
}

WaitingCheck& TicketTable::Add(std::unique_ptr<WaitingCheck> waiting) {
  WaitingCheck& added = *waiting;
  held_.Add(BytesOf(added));
  ++of_caller_[added.caller];
  ++of_target_[Sv(added.asked.request().target)];
  deadlines_.insert({added.wait.until_ns, added.ticket});
  by_ticket_.emplace(added.ticket, std::move(waiting));
  return added;
}

std::unique_ptr<WaitingCheck> TicketTable::Remove(const WaitingCheck& waiting) {
  deadlines_.erase({waiting.wait.until_ns, waiting.ticket});
  CountOut(of_caller_, waiting.caller);
  CountOut(of_target_, Sv(waiting.asked.request().target));
  held_.Add(-BytesOf(waiting));
  const auto found = by_ticket_.find(waiting.ticket);
  std::unique_ptr<WaitingCheck> removed = std::move(found->second);
  by_ticket_.erase(found);
  return removed;
}

WaitingCheck* TicketTable::Find(uint64_t ticket) const {
  const auto found = by_ticket_.find(ticket);
  return found == by_ticket_.end() ? nullptr : found->second.get();
}

}  // namespace headgate::line
