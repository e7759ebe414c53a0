#include "server/throttle_log/thread_counts.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/hash.h"
#include "server/engine/policy.h"

namespace headgate::throttle_log {
namespace {

// So that a level that is counted by itself and one that others are folded into have two keys.
constexpr uint64_t kFolded = 0x666f6c6465643a2a;

size_t TableSize(size_t max_identities) {
  constexpr size_t kLeast = 16, kMax = size_t{1} << 22;
  return std::bit_ceil(std::clamp(max_identities, kLeast, kMax));
}

// As the request has it; where it names none, there was only one.
std::string_view TargetOf(const engine::CheckRequest& request, const engine::Policy* policy) {
  if (!request.target.empty() || policy == nullptr || policy->targets.size() != 1) {
    return request.target;
  }
  return policy->targets[0].name;
}

}  // namespace

ThreadCounts::ThreadCounts(const engine::Engine& engine, const ThreadCountsOptions& options)
    : engine_(engine),
      options_(options),
      mask_(TableSize(options.max_identities) - 1),
      slots_(std::make_unique<Slot[]>(mask_ + 1)),
      // Not cleared: memory that no identity needs is never touched.
      texts_(std::make_unique_for_overwrite<char[]>((mask_ + 1) * kTextBytes)),
      labels_(options.max_labels),
      rest_(std::make_unique<Slot[]>(labels_.capacity())),
      denials_(std::max<size_t>(options.ring_denials, 1)),
      taken_(mask_ + 1),
      taken_rest_(labels_.capacity()) {
  for (uint32_t i = 0; i < labels_.capacity(); ++i) {
    rest_[i].label = i;
    rest_[i].folded = true;
  }
}

void ThreadCounts::RecordOther(const engine::CheckRequest& request,
                               const engine::CheckAnswer& answer, Now now) {
  if (answer.repeated) return;
  const CauseView cause = CauseOf(answer);
  const bool common = cause.outcome == Outcome::kAllowed && cause.reason == engine::Reason::kNone;
  const uint64_t key =
      common ? answer.subject_key : CombineHash(answer.subject_key, cause.Hash(options_.seed)) | 1;
  Slot& slot = SlotFor(key, cause, request, answer);
  if (cause.outcome != Outcome::kAllowed) {
    slot.NoteLimit(cause, round_.load(std::memory_order_relaxed));
    denials_.Push({.at_ns = now.wall_ns,
                   .retry_after_ns = answer.retry_after == absl::InfiniteDuration()
                                         ? RingDenial::kNever
                                         : absl::ToInt64Nanoseconds(answer.retry_after),
                   .predicted_cost = answer.predicted_cost,
                   .observed = cause.observed,
                   .limit = cause.limit_value,
                   .label = slot.label,
                   .priority = answer.priority,
                   .identity = request.identity});
  }
  slot.Add(answer.predicted_cost);
}

Slot* ThreadCounts::Find(uint64_t key) {
  const size_t home = Home(key);
  for (size_t i = 0; i < kWindow; ++i) {
    Slot& slot = slots_[(home + i) & mask_];
    if (slot.key == key) return &slot;
    if (slot.key == 0) return nullptr;  // a slot that was used once is never empty again
  }
  return nullptr;
}

Slot& ThreadCounts::SlotFor(uint64_t key, const CauseView& cause,
                            const engine::CheckRequest& request,
                            const engine::CheckAnswer& answer) {
  if (Slot* const found = Find(key); found != nullptr) return *found;
  const auto policy = answer.policy != nullptr ? answer.policy : engine_.policy();
  const std::string_view target = TargetOf(request, policy.get());
  const uint32_t label = labels_.NumberOf(target, cause, options_.seed);
  if (Slot* const claimed = Claim(key, label, request.identity, false); claimed != nullptr) {
    return *claimed;
  }
  // relaxed: this thread alone writes it.
  folded_.store(folded_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return FoldedSlot(label, request.identity);
}

Slot& ThreadCounts::FoldedSlot(uint32_t label, std::string_view identity) {
  for (size_t colon = identity.find(':'); colon != std::string_view::npos;
       colon = identity.find(':')) {
    identity.remove_prefix(colon + 1);
    const uint64_t level = CombineHash(HashBytes(identity, options_.seed), kFolded);
    const uint64_t key = CombineHash(level, label) | 1;
    if (Slot* const found = Find(key); found != nullptr) return *found;
    Slot* const claimed = Claim(key, label, identity, true);
    if (claimed != nullptr) return *claimed;
  }
  return rest_[label];
}

Slot* ThreadCounts::Claim(uint64_t key, uint32_t label, std::string_view identity, bool folded) {
  const size_t home = Home(key);
  for (size_t i = 0; i < kWindow; ++i) {
    const size_t at = (home + i) & mask_;
    Slot& slot = slots_[at];
    if (!slot.IsFree()) continue;
    if (slot.key == 0) {
      // relaxed: this thread alone writes it.
      used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    slot.key = key;
    slot.label = label;
    ++slot.life;
    slot.peak_round = 0;
    slot.folded = folded;
    slot.text_bytes = static_cast<uint16_t>(std::min(identity.size(), kTextBytes));
    std::memcpy(&texts_[at * kTextBytes], identity.data(), slot.text_bytes);
    // relaxed: the first count releases them.
    slot.cost.store(0, std::memory_order_relaxed);
    slot.peak.store(0, std::memory_order_relaxed);
    slot.limit.store(0, std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

void ThreadCounts::CollectSlot(Slot& slot, Taken& taken, const char* text, Take take) {
  // acquire: with the count come its cost and whose it is; the counting thread leaves those alone
  // until the count is released.
  const uint64_t checks = slot.checks.load(std::memory_order_acquire);
  if (checks == taken.checks) {
    if (taken.quiet >= options_.quiet_rounds) return;
    if (++taken.quiet == options_.quiet_rounds) {
      // release: all that was read of the slot was read before it is given away.
      slot.released.store(checks, std::memory_order_release);
    }
    return;
  }
  if (slot.life != taken.life) taken.cost = 0;
  taken.life = slot.life;
  const double cost = slot.cost.load(std::memory_order_relaxed);
  const Label& label = labels_[slot.label];
  row_.target = label.target;
  row_.identity.assign(text, text == nullptr ? 0 : slot.text_bytes);
  if (text == nullptr) row_.identity = "*";
  row_.folded = slot.folded;
  row_.outcome = label.outcome;
  row_.cause = label.cause;
  take(row_, {.checks = static_cast<int64_t>(checks - taken.checks),
              .cost = cost - taken.cost,
              .peak = slot.peak.load(std::memory_order_relaxed),
              .limit = slot.limit.load(std::memory_order_relaxed)});
  taken.checks = checks;
  taken.cost = cost;
  taken.quiet = 0;
}

void ThreadCounts::Collect(Take take) {
  // relaxed: at worst a peak is told a round longer than it lasted.
  round_.store(round_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  for (size_t i = 0; i <= mask_; ++i) {
    CollectSlot(slots_[i], taken_[i], &texts_[i * kTextBytes], take);
  }
  for (size_t i = 0; i < labels_.capacity(); ++i) {
    CollectSlot(rest_[i], taken_rest_[i], nullptr, take);
  }
}

}  // namespace headgate::throttle_log
