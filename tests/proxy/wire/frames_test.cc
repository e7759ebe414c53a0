// Where messages begin and end, however their bytes arrive.

#include "client/proxy/wire/frames.h"

#include <string>
#include <string_view>
#include <vector>

#include "client/proxy/wire/big_endian.h"
#include "client/proxy/wire/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

using ::testing::ElementsAre;

std::string Message(char type, std::string_view body) {
  std::string message(1, type);
  AppendUint32(static_cast<uint32_t>(4 + body.size()), message);
  return message.append(body);
}

// Relays what arrives in pieces of that size through a buffer, and notes what messages it saw.
struct Relayed {
  std::vector<std::string> seen;  // type and the beginning that was looked at
  std::string passed;
  size_t most_buffered = 0;
};
Relayed Relay(std::string_view bytes, size_t piece, Sender sender) {
  Frames frames(sender);
  Relayed relayed;
  std::string buffer;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    buffer.append(bytes.substr(at, piece));
    relayed.most_buffered = std::max(relayed.most_buffered, buffer.size());
    std::string_view rest = buffer;
    while (!rest.empty()) {
      if (frames.left() == 0) {
        const absl::StatusOr<std::optional<Frame>> frame = frames.Next(rest);
        EXPECT_TRUE(frame.ok()) << frame.status();
        if (!frame.ok() || !frame->has_value()) break;
        relayed.seen.push_back(std::string(1, (*frame)->type).append((*frame)->body));
        frames.Begin(**frame);
      }
      relayed.passed.append(frames.Pass(rest));
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(frames.left(), 0);
  return relayed;
}

TEST(Frames, AreTheSameInWhateverPiecesTheyArrive) {
  const std::string bytes = Message(kDataRow, std::string(1000, 'x')) +
                            Message(kReadyForQuery, "I") + Message(kCommandComplete, "SELECT 1") +
                            Message('~', "") + Message(kReadyForQuery, "T");
  for (const size_t piece : {1, 2, 3, 5, 7, 100, 100'000}) {
    const Relayed relayed = Relay(bytes, piece, Sender::kServer);
    EXPECT_EQ(relayed.passed, bytes);
    EXPECT_THAT(relayed.seen, ElementsAre("D", "ZI", "CSELECT 1", "~", "ZT")) << piece;
  }
}

TEST(Frames, ShowWhatAStatementSays) {
  const std::string bytes = Message(kQuery, std::string("SELECT 1\0", 9)) + Message(kSync, "");
  EXPECT_THAT(Relay(bytes, 4, Sender::kClient).seen,
              ElementsAre(std::string("QSELECT 1\0", 10), "S"));
}

TEST(Frames, OfALongStatementShowItsBeginning) {
  const std::string bytes = Message(kQuery, std::string(1'000'000, 'q'));
  const Relayed relayed = Relay(bytes, 8192, Sender::kClient);
  EXPECT_EQ(relayed.seen.at(0).size(), 1 + Frames::kMaxStatementBytes);
  EXPECT_EQ(relayed.passed, bytes);
}

// A message passes through a buffer that is far smaller than itself.
TEST(Frames, OfAnySizePassThroughASmallBuffer) {
  const std::string bytes = Message(kCopyData, std::string(10'000'000, 'c'));
  const Relayed relayed = Relay(bytes, 4096, Sender::kServer);
  EXPECT_LE(relayed.most_buffered, 4096 + Frames::kHeaderBytes);
  EXPECT_EQ(relayed.passed.size(), bytes.size());
}

TEST(Frames, OfNoPossibleLengthAreRefused) {
  const Frames frames(Sender::kClient);
  for (const uint32_t length : {0U, 3U, 0x80000000U, 0xffffffffU}) {
    std::string bytes = "Q";
    AppendUint32(length, bytes);
    EXPECT_EQ(frames.Next(bytes).status().code(), absl::StatusCode::kInvalidArgument) << length;
  }
  std::string longest = "d";
  AppendUint32(0x7fffffff, longest);
  ASSERT_TRUE(frames.Next(longest).ok());
  EXPECT_EQ((*frames.Next(longest))->size, size_t{0x80000000});
}

}  // namespace
}  // namespace headgate::proxy
