#include "common/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace headgate {
namespace {

constexpr uint64_t kHashSeed = 0x5eed5eed5eed5eed;

// How far the worst (flipped input bit, output bit) pair is from a change in half of all cases.
class Avalanche {
 public:
  void Add(size_t input_bit, uint64_t difference) {
    if (changes_.size() <= input_bit) changes_.resize(input_bit + 1, std::vector<int>(64));
    for (size_t i = 0; i < 64; ++i) changes_[input_bit][i] += static_cast<int>(difference >> i & 1);
  }
  double WorstBias(int samples) const {
    double worst = 0;
    for (const auto& row : changes_) {
      for (int n : row) worst = std::max(worst, std::abs(n / static_cast<double>(samples) - 0.5));
    }
    return worst;
  }

 private:
  std::vector<std::vector<int>> changes_;
};

// SplitMix64: inputs for the statistics, the same in each run.
uint64_t Random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::string NumberedJob(int i) {
  char text[32];
  std::snprintf(text, sizeof(text), "job-%08d", i);
  return text;
}

// Of 100 expected in each of 4096 slots. Even spreading has mean 4095 and deviation 90.5; the tests
// allow five deviations.
double ChiSquared(const std::vector<int>& slots) {
  double sum = 0;
  for (int n : slots) sum += (n - 100.0) * (n - 100.0) / 100.0;
  return sum;
}

TEST(HashBytes, IsAFunctionOfBytesAndSeed) {
  EXPECT_EQ(HashBytes("vcopier", 1), HashBytes(std::string("vcopier"), 1));
  EXPECT_NE(HashBytes("vcopier", 1), HashBytes("vcopier", 2));
  EXPECT_NE(HashBytes("vcopier", 1), HashBytes("vcopies", 1));
}

TEST(HashBytes, ReadsNothingBeyondTheBytes) {
  for (size_t size = 0; size <= 70; ++size) {
    const std::string bytes(size, 'x');
    EXPECT_EQ(HashBytes(bytes, kHashSeed),
              HashBytes(std::string_view((bytes + "yyyy").data(), size), kHashSeed));
  }
}

TEST(HashBytes, RunsOfOneByteDifferByLength) {
  for (char c : {'\0', 'a', '\xff'}) {
    std::set<uint64_t> hashes;
    for (size_t size = 0; size <= 300; ++size)
      hashes.insert(HashBytes(std::string(size, c), kHashSeed));
    EXPECT_EQ(hashes.size(), 301u);
  }
}

TEST(HashBytes, EveryBytePositionCountsAtEveryLength) {
  for (size_t size = 1; size <= 130; ++size) {
    std::string bytes(size, 'a');
    std::set<uint64_t> hashes = {HashBytes(bytes, kHashSeed)};
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = 'b';
      hashes.insert(HashBytes(bytes, kHashSeed));
      bytes[i] = 'a';
    }
    EXPECT_EQ(hashes.size(), size + 1) << size;
  }
}

TEST(HashBytes, AMillionNumberedJobsDontCollide) {
  std::unordered_set<uint64_t> hashes;
  for (int i = 0; i < 1'000'000; ++i) hashes.insert(HashBytes(NumberedJob(i), kHashSeed));
  EXPECT_EQ(hashes.size(), 1'000'000u);
}

TEST(HashBytes, NumberedJobsSpreadEvenlyByLowAndByHighBits) {
  std::vector<int> low(4096), high(4096);
  for (int i = 0; i < 409'600; ++i) {
    const uint64_t hash = HashBytes(NumberedJob(i), kHashSeed);
    ++low[hash % 4096];
    ++high[hash >> 52];
  }
  EXPECT_NEAR(ChiSquared(low), 4095, 453);
  EXPECT_NEAR(ChiSquared(high), 4095, 453);
}

TEST(HashBytes, EachInputBitChangesAboutHalfOfTheOutputBits) {
  uint64_t state = 1;
  for (size_t size : {1u, 3u, 4u, 7u, 8u, 12u, 16u, 17u, 36u}) {
    Avalanche avalanche;
    for (int sample = 0; sample < 10'000; ++sample) {
      std::string bytes(size, '\0');
      for (char& c : bytes) c = static_cast<char>(Random(state));
      // A new seed each time: the table's slots must not be predictable without it.
      const uint64_t seed = Random(state);
      const uint64_t hash = HashBytes(bytes, seed);
      for (size_t bit = 0; bit < 8 * size; ++bit) {
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
        avalanche.Add(bit, hash ^ HashBytes(bytes, seed));
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      }
    }
    EXPECT_LT(avalanche.WorstBias(10'000), 0.03) << size;
  }
}

TEST(CombineHash, FinishesAnUnfinishedHash) {
  std::vector<int> slots(4096);
  const HashKey key(kHashSeed);
  for (int i = 0; i < 409'600; ++i) {
    ++slots[CombineHash(kHashSeed, UnfinishedHash(NumberedJob(i), key)) % 4096];
  }
  EXPECT_NEAR(ChiSquared(slots), 4095, 453);
}

TEST(CombineHash, DependsOnTheOrder) {
  EXPECT_NE(CombineHash(1, 2), CombineHash(2, 1));
  EXPECT_NE(CombineHash(0, 1), CombineHash(1, 0));
}

TEST(CombineHash, SmallNumbersDontCollide) {
  std::unordered_set<uint64_t> hashes;
  for (uint64_t a = 0; a < 1000; ++a) {
    for (uint64_t b = 0; b < 1000; ++b) hashes.insert(CombineHash(a, b));
  }
  EXPECT_EQ(hashes.size(), 1'000'000u);
}

TEST(CombineHash, AFactorOfZeroDoesntHideTheOther) {
  EXPECT_NE(CombineHash(0x9e3779b97f4a7c15, 1), CombineHash(0x9e3779b97f4a7c15, 2));
  EXPECT_NE(CombineHash(1, 0xd1b54a32d192ed03), CombineHash(2, 0xd1b54a32d192ed03));
}

TEST(CombineHash, EachInputBitChangesAboutHalfOfTheOutputBits) {
  uint64_t state = 2;
  Avalanche avalanche;
  for (int sample = 0; sample < 10'000; ++sample) {
    const uint64_t a = Random(state);
    const uint64_t b = Random(state);
    const uint64_t hash = CombineHash(a, b);
    for (size_t bit = 0; bit < 64; ++bit) {
      avalanche.Add(bit, hash ^ CombineHash(a ^ uint64_t{1} << bit, b));
      avalanche.Add(64 + bit, hash ^ CombineHash(a, b ^ uint64_t{1} << bit));
    }
  }
  // One multiplication: its highest and lowest bits depend on few others.
  EXPECT_LT(avalanche.WorstBias(10'000), 0.1);
}

}  // namespace
}  // namespace headgate
