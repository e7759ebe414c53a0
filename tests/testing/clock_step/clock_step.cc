// A library for LD_PRELOAD that sets a program's wall clock while that runs, and with it every wait
// until a time of it. The kernel would do so for a clock that is set; libfaketime does not: a wait
// that has begun goes on by the real clock.
//
// HEADGATE_CLOCK_STEP names a file of eight bytes, by how many nanoseconds the wall clock is ahead
// of the real one (clock_step.h). The monotonic clock stays as it is.
//
// A wait until a time of the wall clock becomes many short ones by the monotonic clock, after each
// of which the time is looked at anew: futexes (Abseil's waits), condition variables, semaphores,
// mutexes and sleeps. Nothing of the C++ library is needed, and nothing is allocated.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kShortNs = 2'000'000;  // how late a wait may end

// Another process writes it; its eight bytes are there at once or not at all.
const volatile int64_t* ahead_ns = nullptr;

__attribute__((constructor)) void Open() {
  const char* const path = std::getenv("HEADGATE_CLOCK_STEP");
  if (path == nullptr) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) ahead_ns = static_cast<const volatile int64_t*>(mapped);
}

int64_t AheadNs() { return ahead_ns == nullptr ? 0 : *ahead_ns; }

template <typename Function>
Function* Real(const char* name, Function* /*of this type*/, const char* version = nullptr) {
  void* found = version == nullptr ? nullptr : dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(found);
}

int RealClock(clockid_t clock, timespec* time) {
  static auto* const real = Real("clock_gettime", &clock_gettime);
  return real(clock, time);
}

int64_t NsOf(const timespec& time) { return int64_t{time.tv_sec} * kSecondNs + time.tv_nsec; }
timespec TimeOf(int64_t ns) {
  int64_t seconds = ns / kSecondNs;
  int64_t rest = ns % kSecondNs;
  if (rest < 0) {
    rest += kSecondNs;
    --seconds;
  }
  return {.tv_sec = static_cast<time_t>(seconds), .tv_nsec = static_cast<long>(rest)};
}

int64_t WallNs() {
  timespec time = {};
  RealClock(CLOCK_REALTIME, &time);
  return NsOf(time) + AheadNs();
}

// The end of the next short wait for a time of the wall clock, by the monotonic clock. False: the
// time has come.
bool NextWait(int64_t until_wall_ns, timespec& end) {
  const int64_t left_ns = until_wall_ns - WallNs();
  if (left_ns <= 0) return false;
  timespec now = {};
  RealClock(CLOCK_MONOTONIC, &now);
  end = TimeOf(NsOf(now) + (left_ns < kShortNs ? left_ns : kShortNs));
  return true;
}

// A timed wait of which `wait` does a short one and returns an error number.
template <typename Wait>
int WaitUntilWall(const timespec& until, Wait wait) {
  timespec end = {};
  while (NextWait(NsOf(until), end)) {
    const int error = wait(end);
    if (error != ETIMEDOUT) return error;
  }
  return ETIMEDOUT;
}

// Of a condition variable that was made to wait by the monotonic clock: glibc's own mark.
bool IsMonotonic(const pthread_cond_t* condition) { return (condition->__data.__wrefs & 2) != 0; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = RealClock(clock, time);
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_wall) *time = TimeOf(NsOf(*time) + AheadNs());
  return result;
}

int gettimeofday(timeval* __restrict time, void* __restrict /*zone*/) noexcept {
  const int64_t ns = WallNs();
  time->tv_sec = static_cast<time_t>(ns / kSecondNs);
  time->tv_usec = static_cast<suseconds_t>(ns % kSecondNs / 1000);
  return 0;
}

time_t time(time_t* out) noexcept {
  const auto seconds = static_cast<time_t>(WallNs() / kSecondNs);
  if (out != nullptr) *out = seconds;
  return seconds;
}

// One short wait may end without cause, as condition variables may: whoever waits looks again. The
// mutex is not given up in between, so that no notice is missed.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  if (IsMonotonic(condition)) {
    static auto* const real =
        Real("pthread_cond_timedwait", &pthread_cond_timedwait, "GLIBC_2.3.2");
    return real(condition, mutex, until);
  }
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static auto* const real = Real("pthread_cond_clockwait", &pthread_cond_clockwait);
  if (clock != CLOCK_REALTIME) return real(condition, mutex, clock, until);
  timespec end = {};
  if (!NextWait(NsOf(*until), end)) return ETIMEDOUT;
  const int error = real(condition, mutex, CLOCK_MONOTONIC, &end);
  return error == ETIMEDOUT && WallNs() < NsOf(*until) ? 0 : error;
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  static auto* const real = Real("pthread_mutex_clocklock", &pthread_mutex_clocklock);
  return WaitUntilWall(*until,
                       [mutex](const timespec& end) { return real(mutex, CLOCK_MONOTONIC, &end); });
}

int sem_timedwait(sem_t* __restrict semaphore, const timespec* __restrict until) {
  static auto* const real = Real("sem_clockwait", &sem_clockwait);
  const int error = WaitUntilWall(*until, [semaphore](const timespec& end) {
    return real(semaphore, CLOCK_MONOTONIC, &end) == 0 ? 0 : errno;
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  static auto* const real = Real("clock_nanosleep", &clock_nanosleep);
  if (clock != CLOCK_REALTIME || (flags & TIMER_ABSTIME) == 0) {
    return real(clock, flags, time, left);
  }
  const int error = WaitUntilWall(*time, [](const timespec& end) {
    const int slept = real(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
    return slept == 0 ? ETIMEDOUT : slept;
  });
  return error == ETIMEDOUT ? 0 : error;
}

long syscall(long number, ...) noexcept {
  static auto* const real = Real("syscall", &syscall);
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  const auto call = [&] {
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  };
  constexpr int kUntilWall = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  const bool waits = number == SYS_futex && words[3] != 0 &&
                     (static_cast<int>(words[1]) & ~FUTEX_PRIVATE_FLAG) == kUntilWall;
  if (!waits) return call();
  const timespec until = *reinterpret_cast<const timespec*>(words[3]);
  words[1] &= ~static_cast<long>(FUTEX_CLOCK_REALTIME);
  const int error = WaitUntilWall(until, [&](const timespec& end) {
    words[3] = reinterpret_cast<long>(&end);
    return call() == 0 ? 0 : errno;
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // extern "C"
