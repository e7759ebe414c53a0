#include "server/serve/transport/header_guard.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "server/serve/transport/field_counter.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::transport {
namespace {

using tls::Frame;
using tls::kPreface;

constexpr char kMethod[] = "/headgate.v1.ThrottlerService/Check";
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kReset = 3;
constexpr char kContinuation = 9;
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;
constexpr char kHasPriority = 0x20;
// A field of the static table.
constexpr char kIndexed = '\x8f';

std::string Call(uint32_t stream) { return tls::Headers(stream, kMethod); }
std::string FieldsOfCall() { return Call(1).substr(9); }
std::string EndOf(uint32_t stream) {
  return Frame(kHeaders, kEndStream | kEndHeaders, stream, "\x88");
}
// A field whose value has so many bytes.
std::string Large(size_t bytes) {
  std::string field("\0\1x\x7f", 4);
  size_t rest = bytes - 127;
  for (; rest >= 128; rest /= 128) field += static_cast<char>(rest % 128 + 128);
  field += static_cast<char>(rest);
  return field + std::string(bytes, 'b');
}
// Headers in frames of so many bytes.
std::string Block(uint32_t stream, const std::string& fields, size_t in_frame = 16'384) {
  std::string frames;
  for (size_t sent = 0; sent < fields.size(); sent += in_frame) {
    const char flags = sent + in_frame >= fields.size() ? kEndHeaders : 0;
    frames +=
        Frame(sent == 0 ? kHeaders : kContinuation, flags, stream, fields.substr(sent, in_frame));
  }
  return frames;
}

class HeaderGuardTest : public testing::Test {
 protected:
  CallBudgets budgets_{{.most = 1 << 20, .little = 32 << 10},
                       {.most = int64_t{1} << 40, .little = 32 << 10}};
};

class Connection {
 public:
  explicit Connection(CallBudgets& budgets) : guard_(budgets) {
    EXPECT_TRUE(guard_.Receive(kPreface));
  }
  bool Receive(const std::string& frames) { return guard_.Receive(frames); }
  void Send(const std::string& frames) { guard_.Send(frames); }
  size_t open_calls() const { return guard_.open_calls(); }

 private:
  HeaderGuard guard_;
};

TEST(FieldCounter, CountsEachKindOfInstructionInPartsOfAnySize) {
  std::string block;
  block += "\x82";                             // an index
  block += "\xff\x01";                         // one of two bytes
  block += std::string("\x3f\xe1\x1f", 3);     // the table's size, 4,096
  block += std::string("\x40\1n\5value", 9);   // added to the table
  block += std::string("\x41\0", 2);           // likewise, of a known name and no value
  block += std::string("\x7f\x01\x83zzz", 6);  // likewise, of a name of two bytes; Huffman
  block += std::string("\0\1n\1v", 5);         // not added
  block += std::string("\x1f\x02\1v", 4);      // never added
  block += Large(300);
  for (size_t in_part = 1; in_part <= block.size(); ++in_part) {
    FieldCounter fields(65'536);
    for (size_t i = 0; i < block.size(); i += in_part) {
      ASSERT_TRUE(fields.Take(std::string_view(block).substr(i, in_part)));
    }
    EXPECT_EQ(fields.count(), 9) << in_part;
    EXPECT_TRUE(fields.IsWhole()) << in_part;
  }
}

TEST(FieldCounter, IsNotWholeWithinAField) {
  FieldCounter fields(65'536);
  const std::string literal("\0\1n\2vw", 6);
  for (const char byte : literal.substr(0, 5)) {
    EXPECT_TRUE(fields.Take({&byte, 1}));
    EXPECT_FALSE(fields.IsWhole());
  }
  EXPECT_TRUE(fields.Take("w"));
  EXPECT_TRUE(fields.IsWhole());
}

TEST(FieldCounter, RefusesNumbersThatAreTooLargeOrNeverEnd) {
  EXPECT_FALSE(FieldCounter(1000).Take(std::string_view("\0\1x\x7f\xe9\x07", 6)));
  EXPECT_TRUE(FieldCounter(1000).Take(std::string_view("\0\1x\x7f\xe9\x06", 6)));
  EXPECT_FALSE(FieldCounter(100).Take(std::string_view("\0\x7e", 2)));
  EXPECT_FALSE(FieldCounter(1000).Take("\xff\x80\x80\x80\x80\x80"));
}

TEST_F(HeaderGuardTest, LetsCallsAndTheirMessagesThroughInPartsOfAnySize) {
  const std::string bytes = kPreface + Frame(4, 1, 0, "") + tls::Call(1, kMethod, "message") +
                            Frame(8, 0, 0, tls::Number(5, 4)) + Block(3, Large(60'000)) +
                            Frame(kData, kEndStream, 3, std::string(16'384, 'd')) +
                            Frame(6, 0, 0, "12345678");
  for (const size_t in_part : {1, 2, 3, 7, 100, 8192, 100'000}) {
    HeaderGuard guard(budgets_);
    for (size_t i = 0; i < bytes.size(); i += in_part) {
      ASSERT_TRUE(guard.Receive(std::string_view(bytes).substr(i, in_part))) << in_part;
    }
    EXPECT_EQ(guard.open_calls(), 2U);
    guard.Send(Frame(4, 0, 0, "") + Frame(kHeaders, kEndHeaders, 1, "\x88") +
               Frame(kData, 0, 1, "answer") + EndOf(1));
    EXPECT_EQ(guard.open_calls(), 1U);
    EXPECT_GT(budgets_.headers.taken(), 60'000 - HeaderGuard::kUsualBytes);
    guard.Send(Frame(kReset, 0, 3, tls::Number(8, 4)));
    EXPECT_EQ(guard.open_calls(), 0U);
    EXPECT_EQ(budgets_.headers.taken(), 0);
  }
}

TEST_F(HeaderGuardTest, RefusesABlockThatIsTooLong) {
  Connection within(budgets_);
  EXPECT_TRUE(within.Receive(Block(1, Large(65'536))));
  Connection beyond(budgets_);
  EXPECT_FALSE(beyond.Receive(Block(1, Large(69'632))));
  // As soon as it is announced.
  Connection endless(budgets_);
  const std::string more = Frame(kContinuation, 0, 1, std::string(16'384, kIndexed)).substr(0, 9);
  EXPECT_TRUE(endless.Receive(Block(1, Large(60'000)).substr(0, 9 + 16'384)));
  EXPECT_TRUE(endless.Receive(Frame(kContinuation, 0, 1, std::string(16'384, 'b'))));
  EXPECT_TRUE(endless.Receive(Frame(kContinuation, 0, 1, std::string(16'384, 'b'))));
  EXPECT_TRUE(endless.Receive(Frame(kContinuation, 0, 1, std::string(10'000, 'b'))));
  EXPECT_FALSE(endless.Receive(more));
}

TEST_F(HeaderGuardTest, RefusesABlockOfTooManyFieldsWhateverItsFrames) {
  const std::string most(HeaderGuard::kMaxFields, kIndexed);
  for (const size_t in_frame : {10, 16'384}) {
    Connection connection(budgets_);
    EXPECT_TRUE(connection.Receive(Block(1, most, in_frame)));
    EXPECT_FALSE(connection.Receive(Block(3, most + kIndexed, in_frame)));
    // And nothing after it.
    EXPECT_FALSE(connection.Receive(Call(5)));
  }
}

TEST_F(HeaderGuardTest, RefusesABlockOfTooManyFrames) {
  Connection connection(budgets_);
  EXPECT_TRUE(connection.Receive(Block(1, std::string(HeaderGuard::kMaxFrames, kIndexed), 1)));
  EXPECT_FALSE(connection.Receive(Block(3, std::string(HeaderGuard::kMaxFrames + 1, kIndexed), 1)));
  Connection empty(budgets_);
  std::string frames = Frame(kHeaders, 0, 1, "");
  for (int i = 0; i < HeaderGuard::kMaxFrames; ++i) frames += Frame(kContinuation, 0, 1, "");
  EXPECT_FALSE(empty.Receive(frames));
}

TEST_F(HeaderGuardTest, CountsAPriorityNotAmongTheFields) {
  const std::string priority("\0\0\0\0\x10", 5);
  Connection connection(budgets_);
  EXPECT_TRUE(connection.Receive(
      Frame(kHeaders, kEndHeaders | kHasPriority, 1, priority + FieldsOfCall())));
  EXPECT_FALSE(connection.Receive(Frame(kHeaders, kHasPriority, 3, priority.substr(1))));
}

TEST_F(HeaderGuardTest, RefusesWhatGrpcWouldTakeForAnother) {
  const std::string unfinished = FieldsOfCall() + std::string("\0\1x\x7f", 4);
  const std::string cases[] = {
      Frame(kContinuation, kEndHeaders, 1, FieldsOfCall()),  // of nothing
      Frame(kHeaders, 0, 0, FieldsOfCall()),                 // of no call
      Frame(kHeaders, kEndHeaders, 1, unfinished),           // it ends within a field
      Frame(kHeaders, 0, 1, FieldsOfCall()) + Frame(kContinuation, 0, 3, ""),
      Frame(kHeaders, 0, 1, FieldsOfCall()) + Frame(kData, 0, 1, ""),
  };
  for (const std::string& frames : cases) {
    Connection connection(budgets_);
    EXPECT_FALSE(connection.Receive(frames));
  }
}

// The highest bit of a stream's number is reserved, and gRPC passes over it.
TEST_F(HeaderGuardTest, KnowsACallWhateverItsReservedBit) {
  Connection connection(budgets_);
  std::string call = Call(1);
  call[5] = static_cast<char>(call[5] | 0x80);
  EXPECT_TRUE(connection.Receive(call));
  connection.Send(EndOf(1));
  EXPECT_EQ(connection.open_calls(), 0U);
}

TEST_F(HeaderGuardTest, LeavesAnotherProtocolToGrpcOnce) {
  HeaderGuard guard(budgets_);
  EXPECT_TRUE(guard.Receive("PRI * HT"));
  EXPECT_TRUE(guard.Receive("ML or what"));
  EXPECT_FALSE(guard.Receive("more"));
}

TEST_F(HeaderGuardTest, BoundsCallsWhoseEndWasNotSent) {
  Connection connection(budgets_);
  uint32_t stream = 1;
  for (size_t i = 0; i < HeaderGuard::kMaxOpenCalls; ++i, stream += 2) {
    EXPECT_TRUE(connection.Receive(Call(stream)));
  }
  connection.Send(EndOf(1));
  EXPECT_TRUE(connection.Receive(Frame(kReset, 0, 3, tls::Number(8, 4))));
  EXPECT_TRUE(connection.Receive(Call(stream) + Call(stream + 2)));
  EXPECT_FALSE(connection.Receive(Call(stream + 4)));
}

TEST_F(HeaderGuardTest, BoundsTheCallsOfAllConnectionsAndLeavesEachAFew) {
  CallBudgets budgets(CallBudgets::kHeaders, {.most = 100 * HeaderGuard::kBytesOfCall,
                                              .little = 8 * HeaderGuard::kBytesOfCall});
  std::vector<std::unique_ptr<Connection>> hostile;
  for (int i = 0; i < 50; ++i) {
    hostile.push_back(std::make_unique<Connection>(budgets));
    uint32_t stream = 1;
    while (stream < 200 && hostile.back()->Receive(Call(stream))) stream += 2;
  }
  // What is left for all, by halves, and the few of each.
  EXPECT_LE(budgets.all.taken(), (100 + 8 * 50) * HeaderGuard::kBytesOfCall);
  Connection honest(budgets);
  for (uint32_t stream = 1; stream < 2000; stream += 16) {
    for (uint32_t i = 0; i < 16; i += 2) ASSERT_TRUE(honest.Receive(Call(stream + i)));
    for (uint32_t i = 0; i < 16; i += 2) honest.Send(EndOf(stream + i));
  }
  hostile.clear();
  EXPECT_EQ(budgets.all.taken(), 0);
}

// gRPC keeps them until it gets round to them.
TEST_F(HeaderGuardTest, CountsResetCallsAsOpenForAWholeTurn) {
  CallBudgets budgets(CallBudgets::kHeaders, {.most = 100 * HeaderGuard::kBytesOfCall,
                                              .little = 8 * HeaderGuard::kBytesOfCall});
  const auto reset = [](uint32_t stream) {
    return Call(stream) + Frame(kReset, 0, stream, tls::Number(8, 4));
  };
  Connection honest(budgets);
  Connection hostile(budgets);
  uint32_t stream = 1;
  while (stream < 10'000 && hostile.Receive(reset(stream))) stream += 2;
  EXPECT_LT(stream, 2 * 100U);
  for (stream = 1; stream < 2000; stream += 4) {
    ASSERT_TRUE(honest.Receive(reset(stream) + reset(stream + 2)));
    EXPECT_EQ(honest.open_calls(), 0U);
    budgets.NextTurn();
    budgets.NextTurn();
  }
}

// Calls come and go by the million on one connection.
TEST_F(HeaderGuardTest, ForgetsCallsThatEnded) {
  Connection connection(budgets_);
  for (uint32_t i = 0; i < 10'000; ++i) {
    const uint32_t stream = 2 * i + 1;
    ASSERT_TRUE(connection.Receive(Block(stream, FieldsOfCall() + Large(5000))));
    // gRPC keeps nothing of a number that is used again, or even.
    ASSERT_TRUE(connection.Receive(Block(stream + 1, FieldsOfCall() + Large(5000))));
    if (i % 3 == 0) connection.Send(EndOf(stream));
    if (i % 3 == 1) connection.Send(Frame(kData, kEndStream, stream, ""));
    if (i % 3 == 2) {
      ASSERT_TRUE(connection.Receive(Frame(kReset, 0, stream, tls::Number(8, 4))));
    }
    budgets_.NextTurn();
  }
  budgets_.NextTurn();
  EXPECT_TRUE(connection.Receive(Frame(6, 0, 0, "12345678")));
  EXPECT_EQ(connection.open_calls(), 0U);
  EXPECT_EQ(budgets_.headers.taken(), 0);
  EXPECT_EQ(budgets_.all.taken(), 0);
}

TEST_F(HeaderGuardTest, OneConnectionCannotHaveTheWholeBudgetAndOthersHaveALittle) {
  Connection large(budgets_);
  uint32_t stream = 1;
  while (large.Receive(Block(stream, FieldsOfCall() + Large(50'000)))) stream += 2;
  // Half of it: so much as is left for all others.
  EXPECT_GT(budgets_.headers.taken(), (1 << 19) - 70'000);
  EXPECT_LE(budgets_.headers.taken(), 1 << 19);
  {
    Connection second(budgets_);
    for (stream = 1; second.Receive(Block(stream, FieldsOfCall() + Large(50'000))); stream += 2) {
    }
    Connection third(budgets_);
    for (stream = 1; third.Receive(Block(stream, FieldsOfCall() + Large(50'000))); stream += 2) {
    }
    EXPECT_LE(budgets_.headers.taken(), 1 << 20);
    std::vector<std::unique_ptr<Connection>> others;
    for (int i = 0; i < 40; ++i) {
      others.push_back(std::make_unique<Connection>(budgets_));
      EXPECT_TRUE(others.back()->Receive(Block(1, FieldsOfCall() + Large(30'000))));
    }
    EXPECT_GT(budgets_.headers.taken(), 1 << 20);
  }
  EXPECT_LE(budgets_.headers.taken(), 1 << 19);
}

// What has not ended, too.
TEST_F(HeaderGuardTest, TakesBlocksUnderWayFromTheBudget) {
  {
    Connection connection(budgets_);
    EXPECT_TRUE(connection.Receive(Block(1, Large(60'000)).substr(0, 20'000)));
    EXPECT_GT(budgets_.headers.taken(), 15'000);
    EXPECT_LT(budgets_.headers.taken(), 20'000);
  }
  EXPECT_EQ(budgets_.headers.taken(), 0);
}

}  // namespace
}  // namespace headgate::transport
