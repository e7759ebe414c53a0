// Counts the instructions that a piece of code executes in user space: the same number on every
// run, however noisy the machine.
//
// On x86-64 the processor traps after each instruction while the trap flag is set, and a signal
// handler counts; about a microsecond for each. Elsewhere nothing is counted and the answer is 0.
// Not thread-safe: one count at a time, and only the calling thread's instructions.

#pragma once

#include <csignal>
#include <cstdint>

namespace headgate {

#if defined(__x86_64__)

namespace internal {
inline volatile uint64_t instructions_counted = 0;
inline void CountOneInstruction(int) { instructions_counted = instructions_counted + 1; }
}  // namespace internal

template <typename Code>
uint64_t CountInstructions(Code&& code) {
  struct sigaction count = {};
  struct sigaction before = {};
  count.sa_handler = internal::CountOneInstruction;
  sigaction(SIGTRAP, &count, &before);
  internal::instructions_counted = 0;
  constexpr uint64_t kTrapFlag = 0x100;
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | kTrapFlag);
  code();
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~kTrapFlag);
  sigaction(SIGTRAP, &before, nullptr);
  return internal::instructions_counted;
}

#else

template <typename Code>
uint64_t CountInstructions(Code&& code) {
  code();
  return 0;
}

#endif

}  // namespace headgate
