#include "server/remember/throttle_log/told_once.h"

#include <utility>

#include "absl/hash/hash.h"

namespace headgate::throttle_log {
namespace {

// A slot and its control byte.
int64_t BytesOf(const absl::flat_hash_set<uint64_t>& set) {
  return static_cast<int64_t>(set.capacity() * (sizeof(uint64_t) + 1));
}

}  // namespace

bool ToldOnce::IsNew(uint64_t subject_key, uint64_t id, Now now) {
  const uint64_t message = absl::HashOf(subject_key, id);
  MutexLock lock(&mutex_);
  const int64_t before = BytesOf(newer_) + BytesOf(older_);
  if (now.monotonic_ns - turned_ns_ >= absl::ToInt64Nanoseconds(kRemembered) ||
      newer_.size() >= kMostKept) {
    Turn(now.monotonic_ns);
  }
  const bool is_new = !older_.contains(message) && newer_.insert(message).second;
  held_.Add(BytesOf(newer_) + BytesOf(older_) - before);
  return is_new;
}

void ToldOnce::Turn(int64_t now_ns) {
  older_ = std::exchange(newer_, {});
  turned_ns_ = now_ns;
}

}  // namespace headgate::throttle_log
