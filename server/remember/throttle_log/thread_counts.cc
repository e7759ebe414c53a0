#include "server/remember/throttle_log/thread_counts.h"

#include <algorithm>
#include <bit>

#include "common/hash.h"
#include "server/decide/engine/policy.h"

namespace headgate::throttle_log {
namespace {

size_t TableSize(size_t max_identities) {
  constexpr size_t kLeast = 16, kMax = size_t{1} << 22;
  return std::bit_ceil(std::clamp(max_identities, kLeast, kMax));
}

// As the request has it; where it names none, there was only one.
std::string_view TargetOf(const engine::CheckRequest& request, const engine::Policy& policy) {
  if (!request.target.empty() || policy.targets.size() != 1) return request.target;
  return policy.targets[0].name;
}

}  // namespace

ThreadCounts::ThreadCounts(const ThreadCountsOptions& options)
    : options_(options),
      mask_(TableSize(options.max_identities) - 1),
      slots_(std::make_unique<Slot[]>(mask_ + 1)),
      // Not cleared: memory that no identity needs is never touched.
      texts_(std::make_unique_for_overwrite<char[]>((mask_ + 1) * kTextBytes)),
      labels_(options.max_labels),
      rest_(std::make_unique<Slot[]>(labels_.capacity())),
      denials_(std::max<size_t>(options.ring_denials, 1)),
      held_(options.held),
      taken_(mask_ + 1),
      taken_rest_(labels_.capacity()) {
  row_.server = options.server;
  held_.Add(static_cast<int64_t>((mask_ + 1 + labels_.capacity()) * (sizeof(Slot) + sizeof(Taken)) +
                                 labels_.capacity() * sizeof(Label) + denials_.bytes()));
  for (uint32_t i = 0; i < labels_.capacity(); ++i) {
    rest_[i].label = i;
    rest_[i].folded = true;
  }
}

uint64_t ThreadCounts::KeyOf(uint64_t subject_key, const CauseView& cause) const {
  const bool common = cause.outcome == Outcome::kAllowed && cause.reason == engine::Reason::kNone;
  return common ? subject_key : CombineHash(subject_key, cause.Hash(options_.seed)) | 1;
}

void ThreadCounts::RecordPieces(const Pieces& pieces) {
  if (pieces.pieces == 0) return;
  const engine::PieceSubject& subject = pieces.subject;
  Slot& slot = SlotFor({.key = KeyOf(subject.key, pieces.cause),
                        .cause = pieces.cause,
                        .identity = pieces.identity,
                        .target = subject.target});
  slot.Add(pieces.cost, static_cast<uint64_t>(pieces.pieces));
}

void ThreadCounts::RecordOther(const engine::CheckRequest& request,
                               const engine::CheckAnswer& answer, Now now) {
  if (answer.repeated) return;
  const CauseView cause = CauseOf(answer);
  Slot& slot = SlotFor({.key = KeyOf(answer.subject_key, cause),
                        .cause = cause,
                        .identity = request.identity,
                        .target = TargetOf(request, *answer.policy)});
  if (cause.outcome == Outcome::kAllowed) {
    NoteLast(slot, request, answer, now);
  } else {
    const bool is_first = slot.peak_round != round_.load(std::memory_order_relaxed);
    if (is_first && options_.last != nullptr) options_.last->Note(request, answer, now);
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
