#include "server/serve/transport/process_memory.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::transport {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMuch = 256 * kMiB;
// What other threads take and give back meanwhile, gRPC's of earlier tests among them.
constexpr int64_t kNoise = 32 * kMiB;

// A sanitizer's allocator tells nothing.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

class ProcessMemoryTest : public testing::Test {
 protected:
  std::atomic<int64_t> own_ = 0;  // declared first: the memory asks it
  ProcessMemory memory_{{{"tables", [this] { return own_.load(); }}}};
};

TEST_F(ProcessMemoryTest, CountsWhatIsAllocatedAndNotWhatWasFreed) {
  EXPECT_LT(memory_.HeldByCallers(), kNoise);
  std::optional<std::vector<char>> much(std::in_place, kMuch, 'x');
  EXPECT_GE(memory_.HeldByCallers(), kMuch - kNoise);
  EXPECT_LT(memory_.HeldByCallers(), kMuch + kNoise);
  much.reset();
  EXPECT_LT(memory_.HeldByCallers(), kNoise);
}

// The C library keeps small pieces for itself, behind the last one that is in use.
std::vector<std::unique_ptr<char[]>> SmallPieces(int64_t bytes) {
  constexpr size_t kPiece = 4096;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (int64_t i = 0; i < bytes / static_cast<int64_t>(kPiece); ++i) {
    pieces.push_back(std::make_unique<char[]>(kPiece));
  }
  return pieces;
}

TEST_F(ProcessMemoryTest, WhatWasFreedInSmallPiecesIsGivenBack) {
  auto pieces = SmallPieces(kMuch);
  EXPECT_GE(memory_.HeldByCallers(), kMuch - kNoise);
  std::unique_ptr<char[]> last = std::move(pieces.back());
  pieces.clear();
  int64_t held = kMuch;
  for (int look = 0; look < 1000; ++look) held = memory_.HeldByCallers();
  EXPECT_LT(held, kNoise);
}

// A flood that is refused leaves no more, and no other occasion to give it back.
TEST_F(ProcessMemoryTest, WhatIsNotMuchIsGivenBackTooAlsoInThePlaceOfUntouchedTables) {
  for (const int64_t untouched : {int64_t{0}, 16 * kMiB}) {
    memory_.Allow(untouched);
    const int64_t before = memory_.LookAtCallers().grown_lately;
    auto pieces = SmallPieces(40 * kMiB);
    EXPECT_GE(memory_.LookAtCallers().grown_lately, before + 36 * kMiB);
    std::unique_ptr<char[]> last = std::move(pieces.back());
    pieces.clear();
    int64_t grown = before;
    for (int look = 0; look < 1000; ++look) grown = memory_.LookAtCallers().grown_lately;
    EXPECT_LT(grown, before + 8 * kMiB) << untouched;
  }
}

// A third of a second later, and not only when it is time anyway.
TEST_F(ProcessMemoryTest, WhatClosedConnectionsHeldIsGivenBackSoon) {
  auto pieces = SmallPieces(kMuch);
  EXPECT_GE(memory_.HeldByCallers(), kMuch - kNoise);
  std::unique_ptr<char[]> last = std::move(pieces.back());
  pieces.clear();
  memory_.ExpectRelease();
  int64_t held = kMuch;
  for (int look = 0; look < 30; ++look) held = memory_.HeldByCallers();
  EXPECT_LT(held, kNoise);
}

TEST_F(ProcessMemoryTest, WhatIsAllowedIsNoCallers) {
  const std::vector<char> table(kMuch, 'x');
  memory_.Allow(kMuch);
  EXPECT_LT(memory_.HeldByCallers(), kNoise);
}

TEST_F(ProcessMemoryTest, WhatAnOwnerHoldsIsNoCallers) {
  const std::vector<char> table(kMuch, 'x');
  own_ = kMuch;
  EXPECT_LT(memory_.HeldByCallers(), kNoise);
  const std::vector<char> messages(kMuch, 'x');
  EXPECT_GE(memory_.HeldByCallers(), kMuch - kNoise);
}

// Not even until it is time to look for what may be given back.
TEST_F(ProcessMemoryTest, WhatAnOwnerLetsGoOfIsNoCallersEither) {
  for (int round = 0; round < 3; ++round) {
    auto rows = SmallPieces(kMuch);
    own_ = kMuch;
    EXPECT_LT(memory_.HeldByCallers(), kNoise);
    std::unique_ptr<char[]> last = std::move(rows.back());
    rows.clear();
    own_ = 0;
    EXPECT_LT(memory_.HeldByCallers(), kNoise) << round;
  }
}

TEST_F(ProcessMemoryTest, WhatOwnersHeldFromTheStartIsInWhatThereWas) {
  const std::vector<char> table(kMuch, 'x');
  own_ = kMuch;
  ProcessMemory later({{"tables", [this] { return own_.load(); }}});
  EXPECT_LT(later.HeldByCallers(), kNoise);
  const std::vector<char> messages(kMuch, 'x');
  EXPECT_GE(later.HeldByCallers(), kMuch - kNoise);
}

#endif

TEST(ProcessMemoryOwners, AreToldByNameAndCallersAreTheLast) {
  ProcessMemory memory({{"lines", [] { return 5; }}, {"log_tables", [] { return 7; }}});
  const std::vector<OwnedMemory> read = memory.Read();
  ASSERT_EQ(read.size(), 3);
  EXPECT_EQ(read[0].owner, "lines");
  EXPECT_EQ(read[0].bytes, 5);
  EXPECT_EQ(read[1].owner, "log_tables");
  EXPECT_EQ(read[1].bytes, 7);
  EXPECT_EQ(read[2].owner, "callers");
  EXPECT_EQ(read[2].bytes, 0);
}

}  // namespace
}  // namespace headgate::transport
