// Callers whose headers take the server's memory: blocks that never end, more calls than it allows,
// and whatever else gRPC 1.51 does not bound before, or although, its SETTINGS are acknowledged.
// The server stays within a small memory and gets it back, and an honest job beside them notices
// nothing.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/flooded_server.h"
#include "tests/govern/tls/flooding_caller.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

constexpr char kFloodedMethod[] = "/headgate.v1.ThrottlerService/Check";
constexpr char kHeadersFrame = 1;
constexpr char kResetFrame = 3;
constexpr char kContinuationFrame = 9;
constexpr char kEndHeaders = 4;
constexpr size_t kFloodFrame = 16'384;

std::string Repeat(size_t count, const std::string& text) {
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// The fields of a call that may have more.
std::string CallFields() { return Headers(1, kFloodedMethod).substr(9); }

// What one kind of flood sends behind its preface: first `opening`, then `more` again and again,
// each with the number of the turn.
struct Flood {
  std::string name;
  std::function<std::string()> opening;
  std::function<std::string(uint32_t turn)> more;
};

// A field of five bytes, which is one of eighty in memory.
Flood LiteralsWithoutEnd() {
  return {"literals that never end", [] { return Frame(kHeadersFrame, 0, 1, CallFields()); },
          [](uint32_t) {
            return Repeat(
                8, Frame(kContinuationFrame, 0, 1, Repeat(3200, std::string("\0\1a\1b", 5))));
          }};
}

// One byte each: a field of the static table.
Flood IndexesWithoutEnd() {
  return {"indexes that never end", [] { return Frame(kHeadersFrame, 0, 1, CallFields()); },
          [](uint32_t) {
            return Repeat(8, Frame(kContinuationFrame, 0, 1, std::string(kFloodFrame, '\x8f')));
          }};
}

// Frames that keep to the limit of 8 kB, which gRPC applies to each of them.
Flood SmallFramesWithoutEnd() {
  return {"small frames that never end", [] { return Frame(kHeadersFrame, 0, 1, CallFields()); },
          [](uint32_t) {
            return Repeat(200, Frame(kContinuationFrame, 0, 1, std::string(150, '\x8f')));
          }};
}

// A text of 256 MiB, byte by byte: what came of it is copied with each.
Flood TextWithoutEnd() {
  return {"a text that never ends",
          [] {
            const std::string length("\x7f\x81\xff\xff\x7f", 5);
            return Frame(kHeadersFrame, 0, 1, CallFields() + std::string("\0\1a", 3) + length);
          },
          [](uint32_t) { return Repeat(1000, Frame(kContinuationFrame, 0, 1, "b")); }};
}

// Whole headers of many calls, and nothing behind them.
Flood CallsWithHeadersAlone() {
  return {"calls with headers alone", [] { return std::string(); },
          [](uint32_t turn) {
            std::string frames;
            for (uint32_t i = 0; i < 16; ++i) {
              frames += Frame(kHeadersFrame, kEndHeaders, 2 * (16 * turn + i) + 1,
                              CallFields() + std::string(8000, '\x8f'));
            }
            return frames;
          }};
}

// As many calls as possible with as much as possible in each, and none more than it may.
Flood CallsWithLargeHeaders() {
  return {"calls with large headers", [] { return std::string(); },
          [](uint32_t turn) {
            // 50,000 bytes: 127 and 49,873 in groups of seven bits.
            const std::string text =
                std::string("\0\1a\x7f\xd1\x85\x03", 7) + std::string(50'000, 'b');
            const std::string fields = CallFields() + text + std::string(100, '\x8f');
            const uint32_t stream = 2 * turn + 1;
            std::string frames = Frame(kHeadersFrame, 0, stream, fields.substr(0, kFloodFrame));
            for (size_t at = kFloodFrame; at < fields.size(); at += kFloodFrame) {
              const char flags = at + kFloodFrame >= fields.size() ? kEndHeaders : 0;
              frames += Frame(kContinuationFrame, flags, stream, fields.substr(at, kFloodFrame));
            }
            return frames;
          }};
}

// As many fields as a call may have, which are a byte each, and an end at once.
Flood ResetCallsWithFields() {
  return {"calls with many fields that are reset", [] { return std::string(); },
          [](uint32_t turn) {
            std::string frames;
            for (uint32_t i = 0; i < 100; ++i) {
              const uint32_t stream = 2 * (100 * turn + i) + 1;
              frames += Frame(kHeadersFrame, kEndHeaders, stream,
                              CallFields() + std::string(110, '\x8f'));
              frames += Frame(kResetFrame, 0, stream, Number(8, 4));
            }
            return frames;
          }};
}

// Of a call that is over gRPC keeps what no whole field is for the headers after it.
Flood RestsOfOldHeaders() {
  return {"rests of old headers", [] { return Frame(kHeadersFrame, kEndHeaders, 3, CallFields()); },
          [](uint32_t) {
            const std::string begun = std::string("\0\1a\x7f\x81\xff\xff\x7f", 8);
            return Repeat(8, Frame(kHeadersFrame, kEndHeaders, 1,
                                   begun + std::string(kFloodFrame - begun.size(), 'b')));
          }};
}

// As small as calls can be.
Flood SmallCalls() {
  return {"small calls", [] { return std::string(); },
          [](uint32_t turn) {
            std::string frames;
            for (uint32_t i = 0; i < 200; ++i) {
              frames += Frame(kHeadersFrame, kEndHeaders, 2 * (200 * turn + i) + 1, CallFields());
            }
            return frames;
          }};
}

// An entry of the dynamic table as large as may be, and a byte for each time that it is meant.
Flood LargeEntryOften() {
  return {"a large entry of the table",
          [] {
            // 4,000 bytes: 127 and 3,873 in groups of seven bits.
            const std::string entry =
                std::string("\x40\1a\x7f\xa1\x1e", 6) + std::string(4000, 'b');
            return Frame(kHeadersFrame, 0, 1, CallFields() + entry);
          },
          [](uint32_t) {
            return Repeat(8, Frame(kContinuationFrame, 0, 1, std::string(kFloodFrame, '\xbe')));
          }};
}

// The dynamic table turned over with each block, in calls that stay open.
Flood NewEntriesOften() {
  return {"new entries of the table", [] { return std::string(); },
          [](uint32_t turn) {
            const std::string entry =
                std::string("\x40\1a\x7f\xa1\x1e", 6) + std::string(4000, 'b');
            return Frame(kHeadersFrame, kEndHeaders, 2 * turn + 1,
                         CallFields() + Repeat(3, entry + std::string(20, '\xbe')));
          }};
}

// Headers with a priority, and padding that gRPC takes for fields, and frames of priority between.
Flood PaddedWithPriority() {
  return {"padded headers with priority", [] { return std::string(); },
          [](uint32_t turn) {
            constexpr char kPriorityFlag = 0x20;
            const std::string priority("\0\0\0\0\x10", 5);
            std::string frames;
            for (uint32_t i = 0; i < 16; ++i) {
              const uint32_t stream = 2 * (16 * turn + i) + 1;
              frames += Frame(2, 0, stream, priority);
              frames += Frame(kHeadersFrame, kEndHeaders | kPriorityFlag, stream,
                              priority + CallFields() + std::string(4000, '\x90'));
            }
            return frames;
          }};
}

Flood PaddingAsHeaders() {
  return {"padding",
          [] { return Frame(kHeadersFrame, 8, 1, std::string(1, '\x82') + CallFields()); },
          [](uint32_t) {
            return Repeat(8, Frame(kContinuationFrame, 8, 1, std::string(kFloodFrame, '\x87')));
          }};
}

// Behind headers that are whole: those at the end of a call.
Flood TrailersWithoutEnd() {
  return {"trailers that never end",
          [] {
            return Frame(kHeadersFrame, kEndHeaders, 1, CallFields()) +
                   Frame(kHeadersFrame, 1, 1, std::string("\0\1a\1b", 5));
          },
          [](uint32_t) {
            return Repeat(8, Frame(kContinuationFrame, 0, 1, std::string(kFloodFrame, '\x8f')));
          }};
}

std::vector<Flood> AllFloods() {
  return {LiteralsWithoutEnd(),    IndexesWithoutEnd(),   SmallFramesWithoutEnd(),
          TextWithoutEnd(),        SmallCalls(),          CallsWithHeadersAlone(),
          CallsWithLargeHeaders(), LargeEntryOften(),     NewEntriesOften(),
          PaddedWithPriority(),    PaddingAsHeaders(),    TrailersWithoutEnd(),
          RestsOfOldHeaders(),     ResetCallsWithFields()};
}

using Over = FloodingCaller::Over;
enum class Ack { kNever, kAtOnce };

class HeaderFlood : public testing::Test {
 protected:
  // So many connections at once, and again and again for so long.
  static void Attack(int port, const Flood& flood, Over over, Ack ack) {
    constexpr int kConnections = 24;
    const int64_t end_ns = MonotonicNs() + (TestScale() == 1 ? 3'000'000'000 : 1'000'000'000);
    std::vector<std::thread> threads;
    for (int i = 0; i < kConnections; ++i) {
      threads.emplace_back([&] {
        while (MonotonicNs() < end_ns) {
          FloodingCaller caller(port, over);
          caller.Send(kPreface + (ack == Ack::kAtOnce ? Frame(4, 1, 0, "") : "") + flood.opening());
          for (uint32_t turn = 0; MonotonicNs() < end_ns && caller.Send(flood.more(turn)); ++turn) {
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void ExpectBounded(const Flood& flood, Over over, Ack ack) {
    const std::string what = absl::StrCat(flood.name, over == Over::kTls ? ", TLS" : "",
                                          ack == Ack::kNever ? "" : ", ACK");
    const RunningHeadgated server(flooded_.Options(over));
    JobBeside job(flooded_.Connect(server, over));
    const double before_mib = MemoryOf(server).rss_mib;
    Attack(server.port(), flood, over, ack);
    const double peak_mib = MemoryOf(server).peak_mib;
    EXPECT_LT(peak_mib - before_mib, kMostTakenMiB) << what;
    EXPECT_TRUE(WaitUntil([&] { return MemoryOf(server).rss_mib < before_mib + kMostKeptMiB; }))
        << what << ": " << MemoryOf(server).rss_mib << " MiB stay of " << peak_mib;
    job.End();
    EXPECT_GT(job.calls(), 0);
    EXPECT_TRUE(job.errors().empty())
        << what << ": " << job.errors().size() << " of " << job.calls() << ", " << job.errors()[0];
    std::cout << what << ": " << before_mib << " MiB, " << peak_mib << " at most, "
              << MemoryOf(server).rss_mib << " later; honest: " << job.calls() << " calls, "
              << job.errors().size() << " errors, the slowest " << job.slowest_ms() << " ms\n";
  }

  const FloodedServer flooded_;
};

// In a short run every sixth.
std::vector<Flood> SomeFloods(size_t first) {
  const std::vector<Flood> all = AllFloods();
  if (TestScale() == 1) return all;
  std::vector<Flood> some;
  for (size_t i = first; i < all.size(); i += 6) some.push_back(all[i]);
  return some;
}

TEST_F(HeaderFlood, WithoutAcknowledgedSettingsTakesLittleMemoryAndNoAnswers) {
  for (const Flood& flood : SomeFloods(0)) ExpectBounded(flood, Over::kPlaintext, Ack::kNever);
}

TEST_F(HeaderFlood, WithAcknowledgedSettingsTakesLittleMemoryAndNoAnswers) {
  for (const Flood& flood : SomeFloods(2)) ExpectBounded(flood, Over::kPlaintext, Ack::kAtOnce);
}

TEST_F(HeaderFlood, ThroughTlsTakesLittleMemoryAndNoAnswers) {
  for (const Flood& flood : SomeFloods(1)) ExpectBounded(flood, Over::kTls, Ack::kNever);
}

TEST_F(HeaderFlood, ThroughTlsWithAcknowledgedSettingsTakesLittleMemoryAndNoAnswers) {
  for (const Flood& flood : SomeFloods(3)) ExpectBounded(flood, Over::kTls, Ack::kAtOnce);
}

// gRPC 1.51 would take so many fields, so it is the HeaderGuard that ends the connection.
TEST_F(HeaderFlood, IsSeenInPlaintextAndThroughTls) {
  for (const Over over : {Over::kPlaintext, Over::kTls}) {
    const RunningHeadgated server(flooded_.Options(over));
    FloodingCaller caller(server.port(), over);
    const auto call = [](uint32_t stream, size_t more) {
      return Frame(kHeadersFrame, kEndHeaders, stream, CallFields() + std::string(more, '\x8f'));
    };
    ASSERT_TRUE(caller.Send(kPreface + call(1, 100)));
    JobBeside job(flooded_.Connect(server, over));
    EXPECT_TRUE(WaitUntil([&] { return job.calls() > 10; }));
    EXPECT_FALSE(caller.IsClosed());
    ASSERT_TRUE(caller.Send(call(3, 200)));
    EXPECT_TRUE(WaitUntil([&] { return caller.IsClosed(); }));
    EXPECT_EQ(server.Log().find("headers are not bounded"), std::string::npos);
    job.End();
    EXPECT_TRUE(job.errors().empty());
  }
}

}  // namespace
}  // namespace headgate::tls
