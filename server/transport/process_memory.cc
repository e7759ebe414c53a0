#include "server/transport/process_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace headgate::transport {
namespace {

// Below it, counting what is free is not worth its time.
constexpr int64_t kMuch = int64_t{128} << 20;
// Giving back takes a while, in which nobody can allocate: some seconds lie between two times.
constexpr int kLooksBetweenTrims = 200;

}  // namespace

int64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

ProcessMemory::ProcessMemory()
    : statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      resident_at_start_(ResidentBytes()),
      allowed_bytes_(AllocatedBytes()) {}

int64_t ProcessMemory::ResidentBytes() const {
  std::array<char, 128> text = {};
  if (pread(statm_.number(), text.data(), text.size() - 1, 0) <= 0) return 0;
  // "total resident ...", in pages.
  char* end_of_total = nullptr;
  std::strtoll(text.data(), &end_of_total, 10);
  return std::strtoll(end_of_total, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

int64_t ProcessMemory::Grown() {
  const int64_t resident = ResidentBytes() - resident_at_start_;
  if (resident < kMuch) return std::max<int64_t>(resident, 0);
  const int64_t allocated = AllocatedBytes() - allowed_bytes_.load(std::memory_order_relaxed);
  if (resident - allocated > kMuch &&
      looks_until_trim_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
    looks_until_trim_.store(kLooksBetweenTrims, std::memory_order_relaxed);
    malloc_trim(0);
  }
  return std::clamp<int64_t>(allocated, 0, resident);
}

void ProcessMemory::Allow(int64_t bytes) {
  allowed_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace headgate::transport
