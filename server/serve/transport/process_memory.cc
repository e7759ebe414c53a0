#include "server/serve/transport/process_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace headgate::transport {
namespace {

// Less is not worth the time that giving memory back takes, in which nobody can allocate.
constexpr int64_t kMuch = int64_t{24} << 20;
// Nor is this, where some was freed for certain.
constexpr int64_t kLittle = int64_t{8} << 20;
// Owners that let go of so much have left memory that can be given back.
constexpr int64_t kReleased = int64_t{16} << 20;
// A hundred looks are a second.
constexpr int kLeastBetweenReturns = 500;
constexpr int kMostBetweenReturns = 16 * kLeastBetweenReturns;
// After connections were closed: a quarter of a second, then each time four times as long.
constexpr int kFirstRelease = 25;
constexpr int kLastRelease = 4 * 4 * 4 * kFirstRelease;
constexpr int kHalfMinute = 3000;

}  // namespace

int64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

ProcessMemory::ProcessMemory(std::vector<MemoryOwner> owners)
    : statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      owners_(std::move(owners)),
      looks_since_return_(0),
      looks_between_returns_(kLeastBetweenReturns) {
  const int64_t allocated = AllocatedBytes();
  const MutexLock lock(&mutex_);
  is_known_ = allocated > 0;
  // Tables of which nothing has been touched yet are allocated, and not resident.
  others_ = std::max(AnonymousBytes(), allocated) - HeldByOwners();
  least_now_ = least_before_ = AnonymousBytes() - HeldByOwners();
}

int64_t ProcessMemory::AnonymousBytes() const {
  std::array<char, 128> text = {};
  if (pread(statm_.number(), text.data(), text.size() - 1, 0) <= 0) return 0;
  // "total resident shared ...", in pages.
  char* at = text.data();
  std::strtoll(at, &at, 10);
  const int64_t resident = std::strtoll(at, &at, 10);
  const int64_t shared = std::strtoll(at, &at, 10);
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

int64_t ProcessMemory::HeldByOwners() const {
  int64_t bytes = 0;
  for (const MemoryOwner& owner : owners_) bytes += owner.bytes();
  return bytes;
}

ProcessMemory::Callers ProcessMemory::LookAtCallers() {
  const MutexLock lock(&mutex_);
  if (!is_known_) return {};
  const int64_t owned = HeldByOwners();
  int64_t bytes = AnonymousBytes() - owned;
  if (IsTimeToGiveBack(bytes, owned)) {
    GiveBack(Unaccounted(bytes));
    most_owned_ = owned;
    bytes = AnonymousBytes() - owned;
  }
  held_by_callers_ = std::max<int64_t>(bytes - others_, 0);
  return {.held = held_by_callers_, .grown_lately = GrownLately(bytes)};
}

int64_t ProcessMemory::GrownLately(int64_t bytes) {
  least_now_ = std::min(least_now_, bytes);
  if (++looks_in_half_ >= kHalfMinute) {
    least_before_ = std::exchange(least_now_, bytes);
    looks_in_half_ = 0;
  }
  return bytes - LeastLately();
}

// What is in the place of tables that are untouched yet is seen by what there was lately alone.
int64_t ProcessMemory::Unaccounted(int64_t bytes) const {
  return bytes - std::min(others_, LeastLately());
}

bool ProcessMemory::IsTimeToGiveBack(int64_t bytes, int64_t owned) {
  ++looks_since_return_;
  most_owned_ = std::max(most_owned_, owned);
  if (IsReleaseExpected() && bytes > LeastLately() + kLittle) return true;
  // What owners let go of is no caller's, and must not be taken for it even for a moment.
  const bool released = owned < most_owned_ - kReleased;
  return Unaccounted(bytes) > kMuch && (released || looks_since_return_ >= looks_between_returns_);
}

bool ProcessMemory::IsReleaseExpected() {
  if (looks_to_release_ == 0 || --looks_to_release_ > 0) return false;
  looks_between_releases_ *= 4;
  if (looks_between_releases_ <= kLastRelease) looks_to_release_ = looks_between_releases_;
  return true;
}

void ProcessMemory::ExpectRelease() {
  const MutexLock lock(&mutex_);
  looks_to_release_ = looks_between_releases_ = kFirstRelease;
  looks_in_half_ = 0;
}

void ProcessMemory::GiveBack(int64_t unaccounted) {
  const int64_t before = AnonymousBytes();
  malloc_trim(0);
  const bool helped = before - AnonymousBytes() > unaccounted / 8;
  looks_between_returns_ =
      helped ? kLeastBetweenReturns : std::min(2 * looks_between_returns_, kMostBetweenReturns);
  looks_since_return_ = 0;
}

void ProcessMemory::Allow(int64_t bytes) {
  const MutexLock lock(&mutex_);
  others_ += bytes;
  least_now_ += bytes;
  least_before_ += bytes;
}

std::vector<OwnedMemory> ProcessMemory::Read() const {
  std::vector<OwnedMemory> read;
  for (const MemoryOwner& owner : owners_) read.push_back({owner.name, owner.bytes()});
  const MutexLock lock(&mutex_);
  read.push_back({"callers", held_by_callers_});
  return read;
}

}  // namespace headgate::transport
