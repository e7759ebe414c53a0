// How far a connection's handshake of TLS is, and who goes when too many are at it.

#include "server/serve/transport/greetings.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "server/serve/transport/tls_greeting.h"

namespace headgate::transport {
namespace {

std::string RecordOf(char type, size_t bytes) {
  return std::string{type, 3, 3, static_cast<char>(bytes >> 8), static_cast<char>(bytes)} +
         std::string(bytes, '\x17');
}

constexpr char kHandshake = 22;
constexpr char kChangeCipher = 20;
constexpr char kApplicationData = 23;

TEST(TlsGreeting, IsOverWithTheFirstEncryptedRecordInPartsOfAnySize) {
  const std::string before = RecordOf(kHandshake, 700) + RecordOf(kHandshake, 0) +
                             RecordOf(kChangeCipher, 1) + RecordOf(kHandshake, 40);
  const std::string last = RecordOf(kApplicationData, 60).substr(0, 5);
  for (const size_t in_part : {1, 2, 5, 7, 10'000}) {
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    TlsGreeting greeting(is_over);
    const auto receive = [&](std::string_view bytes) {
      for (size_t i = 0; i < bytes.size(); i += in_part) {
        EXPECT_TRUE(greeting.Receive(bytes.substr(i, in_part)));
      }
    };
    receive(before + last.substr(0, 4));
    EXPECT_FALSE(*is_over) << in_part;
    receive(last.substr(4) + "anything");
    EXPECT_TRUE(*is_over) << in_part;
  }
}

TEST(TlsGreeting, IsOverWhereTheConnectionIsClosed) {
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  std::make_unique<TlsGreeting>(is_over).reset();
  EXPECT_TRUE(*is_over);
}

TEST(Greetings, TheOneThatTakesLongestGoesForAnotherAndNoneThatIsOver) {
  Greetings greetings(3);
  const auto over = std::make_shared<std::atomic<bool>>(false);
  const auto never = std::make_shared<std::atomic<bool>>(false);
  EXPECT_EQ(greetings.Add(1, over), std::nullopt);
  EXPECT_EQ(greetings.Add(2, never), std::nullopt);
  EXPECT_EQ(greetings.Add(3, never), std::nullopt);
  *over = true;
  EXPECT_EQ(greetings.Add(4, never), std::nullopt);
  EXPECT_EQ(greetings.Add(5, never), 2);
  EXPECT_EQ(greetings.Add(6, never), 3);
  EXPECT_EQ(greetings.count(), 3U);
}

}  // namespace
}  // namespace headgate::transport
