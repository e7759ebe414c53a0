#include "server/remember/throttle_log/denial_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headgate::throttle_log {

DenialRing::DenialRing(size_t size) : size_(size), entries_(std::make_unique<Entry[]>(size)) {}

void DenialRing::Push(const RingDenial& denial) {
  const size_t bytes = std::min(denial.identity.size(), kTextWords * sizeof(uint64_t));
  const uint64_t numbers[kNumbers] = {
      static_cast<uint64_t>(denial.at_ns),
      static_cast<uint64_t>(denial.retry_after_ns),
      std::bit_cast<uint64_t>(denial.predicted_cost),
      std::bit_cast<uint64_t>(denial.observed),
      std::bit_cast<uint64_t>(denial.limit),
      uint64_t{denial.label} << 32 | static_cast<uint32_t>(denial.priority),
      bytes};
  // relaxed: this thread alone writes it.
  const uint64_t number = pushed_.load(std::memory_order_relaxed);
  Entry& entry = entries_[number % size_];
  // relaxed, because each store below is a release: whoever sees one of those sees the odd number.
  entry.sequence.store(2 * number + 1, std::memory_order_relaxed);
  for (size_t i = 0; i < kNumbers; ++i) {
    entry.numbers[i].store(numbers[i], std::memory_order_release);
  }
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, denial.identity.data() + at, std::min(bytes - at, sizeof(word)));
    entry.text[at / sizeof(word)].store(word, std::memory_order_release);
  }
  // release: whoever sees the even number sees all of the entry.
  entry.sequence.store(2 * number + 2, std::memory_order_release);
  pushed_.store(number + 1, std::memory_order_release);
}

bool DenialRing::Read(const Entry& entry, uint64_t number, RingDenial& denial, char* text) {
  // acquire, here and below: the second look at the sequence stays behind all that is read.
  if (entry.sequence.load(std::memory_order_acquire) != 2 * number + 2) return false;
  uint64_t numbers[kNumbers];
  for (size_t i = 0; i < kNumbers; ++i) {
    numbers[i] = entry.numbers[i].load(std::memory_order_acquire);
  }
  const size_t bytes = std::min<size_t>(numbers[6], kTextWords * sizeof(uint64_t));
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = entry.text[at / sizeof(word)].load(std::memory_order_acquire);
    std::memcpy(text + at, &word, sizeof(word));
  }
  denial.at_ns = static_cast<int64_t>(numbers[0]);
  denial.retry_after_ns = static_cast<int64_t>(numbers[1]);
  denial.predicted_cost = std::bit_cast<double>(numbers[2]);
  denial.observed = std::bit_cast<double>(numbers[3]);
  denial.limit = std::bit_cast<double>(numbers[4]);
  denial.label = static_cast<uint32_t>(numbers[5] >> 32);
  denial.priority = static_cast<int32_t>(numbers[5] & 0xffffffff);
  denial.identity = {text, bytes};
  return entry.sequence.load(std::memory_order_relaxed) == 2 * number + 2;
}

int64_t DenialRing::Take(absl::FunctionRef<void(const RingDenial&)> take) {
  // acquire: what was pushed is complete.
  const uint64_t pushed = pushed_.load(std::memory_order_acquire);
  const uint64_t oldest = pushed > size_ ? pushed - size_ : 0;
  int64_t lost = 0;
  char text[kTextWords * sizeof(uint64_t)];
  for (; taken_ < pushed; ++taken_) {
    RingDenial denial;
    if (taken_ >= oldest && Read(entries_[taken_ % size_], taken_, denial, text)) {
      take(denial);
    } else {
      ++lost;
    }
  }
  return lost;
}

}  // namespace headgate::throttle_log
