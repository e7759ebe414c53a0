#include "server/decide/line/lease_watches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::line {
namespace {

using engine::CheckAnswer;
using engine::CheckRequest;

constexpr int kExaminedAtOnce = 64;  // in one call of Advance
// Of a watch with its places in the tables, beside what it was asked with.
constexpr int64_t kBytesOfWatch = 240;

int64_t AfterNs(Now now, absl::Duration span) {
  // Far from where adding overflows; it is looked at again then.
  return now.monotonic_ns + absl::ToInt64Nanoseconds(std::min(span, absl::Hours(1)));
}

}  // namespace

Entered LeaseWatches::Enter(const CheckRequest& request, Wait wait, uint64_t* ticket) {
  auto watch = std::make_unique<Watch>(request);
  const MutexLock lock(&mutex_);
  if (closed_.has_value()) return Entered::kClosed;
  if (watches_.size() + (IsExamining() ? 1 : 0) >= kMost) return Entered::kFull;
  watch->wait = std::move(wait);
  watch->ticket = ++last_ticket_;
  *ticket = watch->ticket;
  due_.push_back(watch->ticket);
  deadlines_.insert({watch->wait.until_ns, watch->ticket});
  bytes_ += kBytesOfWatch + static_cast<int64_t>(watch->kept.size());
  watches_.emplace(watch->ticket, std::move(watch));
  return Entered::kWaits;
}

bool LeaseWatches::Leave(uint64_t ticket) {
  Owned left;  // its waiter goes without the lock
  const MutexLock lock(&mutex_);
  if (ticket == examined_) return !std::exchange(left_, true);
  const auto found = watches_.find(ticket);
  if (found == watches_.end()) return false;
  left = std::move(found->second);
  Remove(*left);
  watches_.erase(found);
  return true;
}

int64_t LeaseWatches::Advance(Now now, Examine examine) {
  for (int i = 0; i < kExaminedAtOnce; ++i) {
    Owned watch = TakeDue(now.monotonic_ns);
    if (watch == nullptr) break;
    const CheckRequest request = watch->kept.request();
    absl::Status status;
    if (watch->asks && !watch->wait.waiter->MayWait(request)) {
      status = absl::PermissionDeniedError("the right to ask was withdrawn meanwhile");
    } else {
      status = examine(request, answer_);
    }
    watch = PutBack(std::move(watch), answer_, status, now);
    if (watch == nullptr) continue;
    if (!status.ok()) answer_.Clear();
    watch->wait.waiter->Answer(watch->wait.place, {status, request, answer_, now});
  }
  answer_.Clear();
  const MutexLock lock(&mutex_);
  if (!due_.empty()) return now.monotonic_ns;
  const int64_t first_ns = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  return std::max(std::min(first_ns, look_at_ns_), now.monotonic_ns);
}

LeaseWatches::Owned LeaseWatches::TakeDue(int64_t now_ns) {
  const MutexLock lock(&mutex_);
  if (look_at_ns_ <= now_ns) MarkAll();
  uint64_t ticket = 0;
  if (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    ticket = deadlines_.begin()->second;
  } else {
    while (!due_.empty() && !watches_.contains(due_.back())) due_.pop_back();
    if (due_.empty()) return nullptr;
    ticket = due_.back();
    due_.pop_back();
  }
  const auto found = watches_.find(ticket);
  Owned watch = std::move(found->second);
  watches_.erase(found);
  examined_ = ticket;
  changed_ = asks_ = left_ = false;
  return watch;
}

LeaseWatches::Owned LeaseWatches::PutBack(Owned watch, const CheckAnswer& answer,
                                          absl::Status& status, Now now) {
  Owned left;  // its waiter goes without the lock
  const MutexLock lock(&mutex_);
  examined_ = 0;
  if (left_) {
    left = std::move(watch);
    Remove(*left);
    return nullptr;
  }
  if (closed_.has_value()) status = *closed_;
  const bool is_over = watch->wait.until_ns <= now.monotonic_ns;
  if (!status.ok() || is_over || answer.grant.state != watch->kept.request().lease->watched) {
    Remove(*watch);
    return watch;
  }
  look_at_ns_ = std::min(look_at_ns_, AfterNs(now, answer.retry_after));
  watch->asks = asks_;
  if (changed_) due_.push_back(watch->ticket);
  watches_.emplace(watch->ticket, std::move(watch));
  return nullptr;
}

void LeaseWatches::Remove(const Watch& watch) {
  deadlines_.erase({watch.wait.until_ns, watch.ticket});
  bytes_ -= kBytesOfWatch + static_cast<int64_t>(watch.kept.size());
}

void LeaseWatches::MarkAll() {
  look_at_ns_ = kNever;
  due_.clear();
  for (const auto& [ticket, watch] : watches_) due_.push_back(ticket);
  changed_ = true;
}

bool LeaseWatches::Changed() {
  const MutexLock lock(&mutex_);
  MarkAll();
  return IsExamining() || !due_.empty();
}

bool LeaseWatches::AskAgain() {
  const MutexLock lock(&mutex_);
  MarkAll();
  for (const auto& [ticket, watch] : watches_) watch->asks = true;
  asks_ = true;
  return IsExamining() || !due_.empty();
}

void LeaseWatches::Close(const absl::Status& status, Now now) {
  std::vector<Owned> all;
  {
    const MutexLock lock(&mutex_);
    closed_ = status;
    for (auto& [ticket, watch] : watches_) {
      Remove(*watch);
      all.push_back(std::move(watch));
    }
    watches_.clear();
    due_.clear();
  }
  CheckAnswer none;
  for (const Owned& watch : all) {
    watch->wait.waiter->Answer(watch->wait.place, {status, watch->kept.request(), none, now});
  }
}

size_t LeaseWatches::size() const {
  const MutexLock lock(&mutex_);
  return watches_.size() + (IsExamining() ? 1 : 0);
}

int64_t LeaseWatches::held_bytes() const {
  const MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace headgate::line
