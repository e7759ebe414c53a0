#include "server/app/monotonic_waits.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <ctime>

#include "common/system_clock.h"

namespace headgate::app {
namespace {

using Words = std::array<long, 6>;  // NOLINT(google-runtime-int): as the C library has it
using Syscall = decltype(&syscall);

constexpr int64_t kSecondNs = 1'000'000'000;
// The clock may be set just before a wait begins, whose time is then of before: that is found out.
constexpr int64_t kLookAgainAfterNs = kSecondNs;

// The C library's. relaxed: whoever finds none looks it up, and all find the same.
std::atomic<Syscall> next_syscall = nullptr;

Syscall Next() {
  Syscall next = next_syscall.load(std::memory_order_relaxed);
  if (next != nullptr) [[likely]]
    return next;
  next = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  next_syscall.store(next, std::memory_order_relaxed);
  return next;
}

// A wait until a time of the wall clock.
bool IsWallWait(long number, const Words& words) {
  constexpr int kWallWait = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  return number == SYS_futex && words[3] != 0 &&
         (static_cast<int>(words[1]) & ~FUTEX_PRIVATE_FLAG) == kWallWait;
}

// When it is to end, by the monotonic clock.
timespec EndOf(const timespec& until) {
  const Now now = SystemClock::ReadKernel();
  const int64_t now_s = now.wall_ns / kSecondNs;
  const int64_t left_s = std::clamp<int64_t>(until.tv_sec - now_s, -1, 2);
  const int64_t left_ns = left_s * kSecondNs + until.tv_nsec - now.wall_ns % kSecondNs;
  const int64_t end_ns = now.monotonic_ns + std::clamp<int64_t>(left_ns, 0, kLookAgainAfterNs);
  return {.tv_sec = end_ns / kSecondNs, .tv_nsec = end_ns % kSecondNs};
}

}  // namespace

void WaitByTheMonotonicClock() { Next(); }

}  // namespace headgate::app

extern "C" long syscall(long number, ...) noexcept {  // NOLINT: the C library's declaration
  headgate::app::Words words = {};
  va_list list;
  va_start(list, number);
  for (long& word : words) word = va_arg(list, long);  // NOLINT: likewise
  va_end(list);
  timespec end = {};
  if (headgate::app::IsWallWait(number, words)) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call's words are what they are.
    end = headgate::app::EndOf(*reinterpret_cast<const timespec*>(words[3]));
    words[1] &= ~static_cast<long>(FUTEX_CLOCK_REALTIME);  // NOLINT: likewise
    words[3] = reinterpret_cast<long>(&end);               // NOLINT: likewise
  }
  return headgate::app::Next()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
