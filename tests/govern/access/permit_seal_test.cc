#include "server/govern/access/permit_seal.h"

#include <set>

#include "gtest/gtest.h"

namespace headgate::access {
namespace {

// The paper's test vector of Speck64/128.
TEST(PermitSeal, IsSpeck) {
  const PermitSeal seal(PermitSeal::Key{0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918});
  EXPECT_EQ(seal.Encrypt(0x3b7265747475432d), 0x8c6fa548454e028bU);
  EXPECT_EQ(seal.Decrypt(0x8c6fa548454e028b), 0x3b7265747475432dU);
}

TEST(PermitSeal, OpensWhatItSealed) {
  const PermitSeal seal(7, "backfill");
  std::set<uint64_t> sealed;
  for (uint64_t permit = 1; permit < 10'000; ++permit) {
    EXPECT_EQ(seal.Open(seal.Seal(permit)), permit);
    EXPECT_NE(seal.Seal(permit), 0U);
    sealed.insert(seal.Seal(permit));
  }
  EXPECT_EQ(sealed.size(), 9'999U);
  EXPECT_EQ(seal.Open(seal.Seal(UINT64_MAX)), UINT64_MAX);
}

TEST(PermitSeal, ZeroIsNoPermitOnEitherSide) {
  const PermitSeal seal(7, "backfill");
  EXPECT_EQ(seal.Seal(0), 0U);
  EXPECT_EQ(seal.Open(0), 0U);
  // The one value whose cipher is 0 is moved to where 0's would be, and back.
  const uint64_t skipped = seal.Decrypt(0);
  EXPECT_EQ(seal.Seal(skipped), seal.Encrypt(0));
  EXPECT_EQ(seal.Open(seal.Encrypt(0)), skipped);
}

TEST(PermitSeal, IsAnotherForAnotherCallerOrSeedAndTheSameAfterARestart) {
  const uint64_t sealed = PermitSeal(7, "backfill").Seal(4711);
  EXPECT_EQ(PermitSeal(7, "backfill").Open(sealed), 4711U);
  EXPECT_NE(PermitSeal(7, "etl").Open(sealed), 4711U);
  EXPECT_NE(PermitSeal(8, "backfill").Open(sealed), 4711U);
}

// Ids of neighbours share their upper 40 bits, so guesses would be few.
TEST(PermitSeal, AForeignIdOpensToNothingNearARealOne) {
  const PermitSeal mine(7, "backfill");
  const PermitSeal other(7, "etl");
  const uint64_t first = uint64_t{0x123456789a} << 24;
  for (uint64_t i = 0; i < 100'000; ++i) {
    EXPECT_NE(other.Open(mine.Seal(first + i)) >> 24, first >> 24);
  }
}

}  // namespace
}  // namespace headgate::access
