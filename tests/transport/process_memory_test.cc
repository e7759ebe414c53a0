#include "server/transport/process_memory.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::transport {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMuch = 256 * kMiB;

// A sanitizer's allocator tells nothing.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

class ProcessMemoryTest : public testing::Test {
 protected:
  ProcessMemory memory_;
};

TEST_F(ProcessMemoryTest, CountsWhatIsAllocatedAndNotWhatWasFreed) {
  EXPECT_LT(memory_.Grown(), 32 * kMiB);
  std::optional<std::vector<char>> much(std::in_place, kMuch, 'x');
  // gRPC's threads may give back what tests before used.
  EXPECT_GE(memory_.Grown(), kMuch - kMiB);
  EXPECT_LT(memory_.Grown(), kMuch + 32 * kMiB);
  much.reset();
  EXPECT_LT(memory_.Grown(), 32 * kMiB);
}

TEST_F(ProcessMemoryTest, WhatIsAllowedIsNoGrowth) {
  const std::vector<char> table(kMuch, 'x');
  memory_.Allow(kMuch);
  EXPECT_LT(memory_.Grown(), 32 * kMiB);
}

#endif

}  // namespace
}  // namespace headgate::transport
