#include "common/identity.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/hash.h"
#include "common/identity_scan.h"

namespace headgate {
namespace {

constexpr uint64_t kSeed = 0x5eed5eed5eed5eed;

Identity Parsed(std::string_view text, uint64_t seed = kSeed) {
  Identity id;
  const absl::Status status = Identity::Parse(text, seed, id);
  EXPECT_TRUE(status.ok()) << status;
  return id;
}

std::string Refusal(std::string_view text) {
  Identity id;
  const absl::Status status = Identity::Parse(text, kSeed, id);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_EQ(id.depth(), 0) << text;
  return std::string(status.message());
}

std::string Repeated(std::string_view segment, int times) {
  std::string text(segment);
  for (int i = 1; i < times; ++i) text.append(":").append(segment);
  return text;
}

TEST(Identity, LevelsAreItsSuffixesFromRootToLeaf) {
  const Identity id = Parsed("d666bbfc_169e:vcopier:vreplication:online-ddl");
  ASSERT_EQ(id.depth(), 4);
  EXPECT_EQ(id.Level(1), "online-ddl");
  EXPECT_EQ(id.Level(2), "vreplication:online-ddl");
  EXPECT_EQ(id.Level(3), "vcopier:vreplication:online-ddl");
  EXPECT_EQ(id.Level(4), "d666bbfc_169e:vcopier:vreplication:online-ddl");
  EXPECT_EQ(id.text(), id.Level(4));
}

TEST(Identity, SegmentsAreCountedFromTheRoot) {
  const Identity id = Parsed("d666bbfc_169e:vcopier:vreplication:online-ddl");
  EXPECT_EQ(id.Segment(1), "online-ddl");
  EXPECT_EQ(id.Segment(2), "vreplication");
  EXPECT_EQ(id.Segment(3), "vcopier");
  EXPECT_EQ(id.Segment(4), "d666bbfc_169e");
}

TEST(Identity, ASelectorHashesLikeTheSameLevelOfALongerIdentity) {
  const Identity longer = Parsed("d666bbfc_169e:vcopier:vreplication:online-ddl");
  const Identity selector = Parsed("vreplication:online-ddl");
  EXPECT_EQ(selector.LevelHash(1), longer.LevelHash(1));
  EXPECT_EQ(selector.LevelHash(2), longer.LevelHash(2));
  EXPECT_EQ(Parsed(longer.Level(3)).LevelHash(3), longer.LevelHash(3));
}

TEST(Identity, SegmentHashIsTheHashOfTheSegment) {
  const Identity id = Parsed("a:vcopier:vreplication_0123456789:x");
  for (int d = 1; d <= 4; ++d) EXPECT_EQ(id.SegmentHash(d), HashBytes(id.Segment(d), kSeed));
}

TEST(Identity, SameSegmentsInAnotherPlaceHashDifferently) {
  EXPECT_NE(Parsed("a:b").LevelHash(2), Parsed("b:a").LevelHash(2));
  EXPECT_NE(Parsed("a:a").LevelHash(2), Parsed("a:a").LevelHash(1));
  EXPECT_NE(Parsed("ab:c").LevelHash(2), Parsed("a:bc").LevelHash(2));
}

TEST(Identity, AnotherSeedGivesOtherHashes) {
  EXPECT_NE(Parsed("a:b", 1).LevelHash(1), Parsed("a:b", 2).LevelHash(1));
  EXPECT_NE(Parsed("a:b", 1).LevelHash(2), Parsed("a:b", 2).LevelHash(2));
}

TEST(Identity, LimitsThemselvesAreAllowed) {
  EXPECT_EQ(Parsed(Repeated("a", 8)).depth(), 8);
  EXPECT_EQ(Parsed(std::string(128, 'a')).depth(), 1);
  const std::string longest =
      std::string(125, 'a') + ":" + Repeated(std::string(128, 'b'), 3);  // 125 + 3 * 129 = 512
  ASSERT_EQ(longest.size(), 512u);
  EXPECT_EQ(Parsed(longest).depth(), 4);
  EXPECT_EQ(Parsed(longest).Segment(4).size(), 125u);
}

TEST(Identity, EachLengthUpToTheLimitParsesIntoItsSegments) {
  for (size_t last = 1; last <= 128; ++last) {
    const std::string text = std::string(last, 'z') + ":mid:" + std::string(129 - last, 'r');
    const Identity id = Parsed(text);
    ASSERT_EQ(id.depth(), 3) << text;
    EXPECT_EQ(id.Segment(3), std::string(last, 'z'));
    EXPECT_EQ(id.Segment(2), "mid");
    EXPECT_EQ(id.Segment(1), std::string(129 - last, 'r'));
  }
}

TEST(Identity, StatusOrFormGivesTheSameAnswer) {
  const absl::StatusOr<Identity> id = Identity::Parse("a:b", kSeed);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(id->LevelHash(2), Parsed("a:b").LevelHash(2));
  EXPECT_FALSE(Identity::Parse("a::b", kSeed).ok());
}

TEST(Identity, ACopyIsTheSameIdentity) {
  const Identity id = Parsed("a:b");
  const Identity copy = id;
  EXPECT_EQ(copy.text(), "a:b");
  EXPECT_EQ(copy.LevelHash(2), id.LevelHash(2));
}

TEST(IdentityErrors, Empty) {
  EXPECT_EQ(Refusal(""), "identity is empty; it needs 1 to 8 segments, separated by ':'");
}

TEST(IdentityErrors, ABadByteIsNamedWithItsPosition) {
  EXPECT_EQ(
      Refusal("app:ba d"),
      "identity has the byte ' ' at position 6; allowed are A-Z a-z 0-9 _ - . @ / and, between "
      "segments, ':'");
  EXPECT_EQ(Refusal(std::string_view("ab\0", 3)),
            "identity has the byte '\\x00' at position 2; allowed are A-Z a-z 0-9 _ - . @ / and, "
            "between segments, ':'");
  EXPECT_EQ(Refusal("job:\xc3\xa9tl"),
            "identity has the byte '\\xc3' at position 4; allowed are A-Z a-z 0-9 _ - . @ / and, "
            "between segments, ':'");
}

TEST(IdentityErrors, AnEmptySegmentIsNamedWithItsPosition) {
  EXPECT_EQ(Refusal("a::b"),
            "identity has an empty segment at position 2; a segment has 1 to 128 bytes");
  EXPECT_EQ(Refusal(":a"),
            "identity has an empty segment at position 0; a segment has 1 to 128 bytes");
  EXPECT_EQ(Refusal("a:"),
            "identity has an empty segment at position 2; a segment has 1 to 128 bytes");
  EXPECT_EQ(Refusal(":"),
            "identity has an empty segment at position 0; a segment has 1 to 128 bytes");
}

TEST(IdentityErrors, ANinthSegmentIsNamedWithItsPosition) {
  EXPECT_EQ(Refusal(Repeated("ab", 9)),
            "identity has more than 8 segments; one too many starts at position 24");
}

TEST(IdentityErrors, ALongSegmentIsNamedWithItsPosition) {
  EXPECT_EQ(
      Refusal("ab:" + std::string(129, 'x')),
      "identity has a segment from position 3 that is too long from position 131; 128 bytes are "
      "allowed");
}

TEST(IdentityErrors, TooLongInAll) {
  EXPECT_EQ(Refusal(std::string(513, 'a')),
            "identity has 513 bytes; 512 are allowed, so it is too long from position 512");
}

TEST(IdentityErrors, TheFirstFaultFromTheLeftIsNamed) {
  EXPECT_EQ(Refusal("a::b c"),
            "identity has an empty segment at position 2; a segment has 1 to 128 bytes");
  EXPECT_NE(Refusal("a b::c").find("position 1;"), std::string::npos);
}

TEST(IdentityErrors, NoByteButTheAllowedOnesPassesAnywhere) {
  const std::string allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.@/";
  for (size_t size : {1u, 3u, 7u, 8u, 15u, 16u, 17u, 31u, 64u, 65u, 80u}) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        const bool separates = byte == ':' && at > 0 && at + 1 < size;
        const bool expected = separates || allowed.find(text[at]) != std::string::npos;
        Identity id;
        ASSERT_EQ(Identity::Parse(text, kSeed, id).ok(), expected)
            << size << " " << at << " " << byte;
        ASSERT_EQ(id.depth(), separates ? 2 : expected ? 1 : 0);
      }
    }
  }
}

TEST(ValidateSegment, TakesASegmentAndNothingElse) {
  EXPECT_TRUE(Identity::ValidateSegment("vcopier").ok());
  EXPECT_TRUE(Identity::ValidateSegment(std::string(128, 'a')).ok());
  EXPECT_EQ(Identity::ValidateSegment("").message(), "segment is empty; it needs 1 to 128 bytes");
  EXPECT_EQ(Identity::ValidateSegment("a:b").message(),
            "segment has the byte ':' at position 1; allowed are A-Z a-z 0-9 _ - . @ /");
  EXPECT_EQ(Identity::ValidateSegment(std::string(129, 'a')).message(),
            "segment is too long from position 128; 128 bytes are allowed");
}

#if defined(__SSE2__)
// Both scans of a text in memory that ends where the text does, for AddressSanitizer to watch.
void ExpectSameScan(std::string_view text) {
  const auto exact = std::make_unique<char[]>(text.size());
  std::memcpy(exact.get(), text.data(), text.size());
  text = {exact.get(), text.size()};
  internal::Sse2Scan fast(text);
  internal::ScalarScan slow(text);
  for (size_t base = 0; base < text.size(); base += 64) {
    ASSERT_EQ(fast.Colons(base), slow.Colons(base)) << "size " << text.size() << " base " << base;
  }
  ASSERT_EQ(fast.valid(), slow.valid()) << "size " << text.size();
}

TEST(IdentityScan, AgreesWithTheScalarScanOnEveryByteAtEveryPosition) {
  for (size_t size = 1; size <= 144; ++size) {
    std::string text(size, 'a');
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        text[at] = static_cast<char>(byte);
        ExpectSameScan(text);
      }
      text[at] = 'a';
    }
  }
}

TEST(IdentityScan, AgreesWithTheScalarScanOnRandomTexts) {
  std::mt19937_64 random(1);
  const std::string mostly_good = "abcxyzABCXYZ0129_-.@/::::::";
  for (int i = 0; i < 200'000; ++i) {
    std::string text(1 + random() % 512, 'a');
    for (char& c : text) c = mostly_good[random() % mostly_good.size()];
    if (i % 2 == 0) text[random() % text.size()] = static_cast<char>(random());
    ExpectSameScan(text);
  }
}
#endif

}  // namespace
}  // namespace headgate
