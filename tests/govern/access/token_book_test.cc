#include "server/govern/access/token_book.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::access {
namespace {

using ::testing::ElementsAre;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

std::string HashOf(const std::string& token) {
  std::string hex;
  for (const uint8_t byte : DigestOf(token)) absl::StrAppendFormat(&hex, "%02x", byte);
  return hex;
}

std::string ErrorOf(const std::string& text) {
  return std::string(TokenBook::Parse(text, "tokens").status().message());
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(TokenBook, TakesNamesUpToTheirLongest) {
  EXPECT_TRUE(TokenBook::IsName(std::string(TokenBook::kMaxNameBytes, 'a')));
  EXPECT_FALSE(TokenBook::IsName(std::string(TokenBook::kMaxNameBytes + 1, 'a')));
  EXPECT_FALSE(TokenBook::IsName(""));
}

TEST(TokenBook, FindsTheNameOfAToken) {
  const auto book = TokenBook::Parse(
      absl::StrCat("# who may call\n\n  sre\t sha256:", HashOf(kToken), "  # on call\r\n"),
      "tokens");
  ASSERT_TRUE(book.ok()) << book.status();
  ASSERT_NE(book->Find(kToken), nullptr);
  EXPECT_EQ(*book->Find(kToken), "sre");
  EXPECT_EQ(book->Find(absl::StrCat(kToken, "\n")), nullptr);
  EXPECT_EQ(book->Find("0123456789abcdef0123456789abcdeF"), nullptr);
  EXPECT_EQ(book->Find(""), nullptr);
  EXPECT_EQ(book->Find(HashOf(kToken)), nullptr);
}

TEST(TokenBook, TakesTheHashInEitherCase) {
  std::string hash = HashOf(kToken);
  for (char& c : hash) c = static_cast<char>(std::toupper(c));
  const auto book = TokenBook::Parse("a sha256:" + hash, "tokens");
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_NE(book->Find(kToken), nullptr);
}

TEST(TokenBook, ANameMayHaveTwoTokensForARotation) {
  const auto book =
      TokenBook::Parse(absl::StrCat("a sha256:", HashOf("an older token, long enough"),
                                    "\na sha256:", HashOf(kToken)),
                       "tokens");
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ(book->size(), 2U);
  EXPECT_EQ(*book->Find(kToken), "a");
  EXPECT_EQ(*book->Find("an older token, long enough"), "a");
  EXPECT_THAT(book->Names(), ElementsAre("a"));
}

TEST(TokenBook, ShortAndHugeTokensAreNoTokens) {
  const std::string least(16, 'a');
  const std::string most(512, 'a');
  const auto book = TokenBook::Parse(
      absl::StrCat("a sha256:", HashOf(std::string(15, 'a')), "\nb sha256:", HashOf(least),
                   "\nc sha256:", HashOf(most), "\nd sha256:", HashOf(most + "a")),
      "tokens");
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ(book->Find(std::string(15, 'a')), nullptr);
  EXPECT_NE(book->Find(least), nullptr);
  EXPECT_NE(book->Find(most), nullptr);
  EXPECT_EQ(book->Find(most + "a"), nullptr);
}

TEST(TokenBook, RefusesAFileAsAWholeAndSaysEachLine) {
  const std::string good = HashOf(kToken);
  EXPECT_EQ(ErrorOf(absl::StrCat("a sha256:", good, "\nb\nc sha256:12\nb b sha256:", good,
                                 "\nd md5:", good, "\né sha256:", good)),
            "tokens:2: expected NAME sha256:HEX, HEX being 64 hexadecimal digits\n"
            "tokens:3: expected NAME sha256:HEX, HEX being 64 hexadecimal digits\n"
            "tokens:4: expected NAME sha256:HEX, HEX being 64 hexadecimal digits\n"
            "tokens:5: expected NAME sha256:HEX, HEX being 64 hexadecimal digits\n"
            "tokens:6: a name is 1 to 128 letters, digits, '_', '-', '.', '@' or '/'");
}

TEST(TokenBook, ATokenHasOneName) {
  EXPECT_EQ(ErrorOf(absl::StrCat("a sha256:", HashOf(kToken), "\nb sha256:", HashOf(kToken))),
            "tokens:2: the same token is in line 1");
}

TEST(TokenBook, RefusesTheHashOfNothing) {
  EXPECT_EQ(ErrorOf("a sha256:" + HashOf("")), "tokens:1: this is the hash of an empty token");
  EXPECT_EQ(ErrorOf("a sha256:" + HashOf("\n")), "tokens:1: this is the hash of an empty token");
}

// Somebody forgot to hash it: the log must not have it.
TEST(TokenBook, AnErrorShowsNothingOfTheLine) {
  EXPECT_EQ(ErrorOf(absl::StrCat("a ", kToken)).find(kToken), std::string::npos);
  EXPECT_EQ(ErrorOf(kToken).find(kToken), std::string::npos);
}

TEST(TokenBook, SaysTwentyErrorsAtMost) {
  const std::string error = ErrorOf(std::string(1000, '\n') + std::string(2000, 'x') + "\n" + [] {
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += "x\n";
    return lines;
  }());
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 19);
}

TEST(TokenBook, HasTenThousandTokensAtMost) {
  std::string text;
  const auto add = [&](int number) {
    absl::StrAppend(&text, "t", number, " sha256:", absl::Hex(number + 1, absl::kZeroPad16),
                    std::string(48, 'a'), "\n");
  };
  for (int i = 0; i < 10'000; ++i) add(i);
  const auto full = TokenBook::Parse(text, "tokens");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->size(), 10'000U);
  add(10'000);
  EXPECT_EQ(TokenBook::Parse(text, "tokens").status().message(),
            "tokens:10001: more than 10000 tokens");
}

TEST(TokenBook, AnEmptyFileHasNoTokens) {
  const auto book = TokenBook::Parse("", "tokens");
  ASSERT_TRUE(book.ok());
  EXPECT_EQ(book->Find(kToken), nullptr);
}

}  // namespace
}  // namespace headgate::access
