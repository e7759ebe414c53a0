// What a proxy reads of messages, and what it says itself.

#include "client/proxy/wire/messages.h"

#include <string>

#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

using std::string_literals::operator""s;

TEST(Messages, AnErrorHasItsFieldsInOrder) {
  EXPECT_EQ(ErrorResponse({.sqlstate = "53000", .message = "held", .detail = "d", .hint = "h"}),
            "E\0\0\0\x26"s + "SERROR\0VERROR\0C53000\0Mheld\0Dd\0Hh\0\0"s);
  EXPECT_EQ(ErrorResponse({.ends_session = true, .sqlstate = "08P01", .message = "m"}),
            "E\0\0\0\x1d"s + "SFATAL\0VFATAL\0C08P01\0Mm\0\0"s);
}

TEST(Messages, AFieldEndsAtItsFirstZero) {
  EXPECT_EQ(ErrorResponse({.sqlstate = "53000", .message = "a\0b"s}),
            ErrorResponse({.sqlstate = "53000", .message = "a"}));
}

TEST(Messages, ReadyForQueryTellsWhereTheSessionIs) {
  for (const auto status :
       {TransactionStatus::kIdle, TransactionStatus::kInTransaction, TransactionStatus::kFailed}) {
    const std::string message = ReadyForQuery(status);
    EXPECT_EQ(message.size(), 6);
    EXPECT_EQ(StatusOfReady(message.substr(5)), status);
  }
  EXPECT_EQ(StatusOfReady("X"), std::nullopt);
  EXPECT_EQ(StatusOfReady(""), std::nullopt);
}

TEST(Messages, AKeyIsAProcessAndASecret) {
  EXPECT_EQ(KeyOf("\0\0\0\x07sec!"s), (CancelKey{.process = 7, .secret = "sec!"}));
  EXPECT_EQ(KeyOf("\0\0\0\x07"s + std::string(256, 's'))->secret.size(), 256);
  EXPECT_EQ(KeyOf("\0\0\0\x07sec"s), std::nullopt);
}

TEST(Messages, AStatementIsWhatStandsBeforeItsZero) {
  EXPECT_EQ(StatementOf(kQuery, "SELECT 1\0"s), "SELECT 1");
  EXPECT_EQ(StatementOf(kQuery, "SELECT 1, that was cut"), "SELECT 1, that was cut");
  EXPECT_EQ(StatementOf(kParse, "name\0SELECT $1\0\0\0"s), "SELECT $1");
  EXPECT_EQ(StatementOf(kParse, "a name that was cut"), "");
  EXPECT_EQ(StatementOf(kSync, ""), "");
}

}  // namespace
}  // namespace headgate::proxy
