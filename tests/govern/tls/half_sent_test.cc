// Callers who send half of large messages, as many and as fast as they can: what the server holds
// of them stays well below the memory that the chart gives it.

#include <algorithm>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/check_once.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

constexpr uint32_t kMessageBytes = (4 << 20) - 16;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMaxMiB = 3072;  // they remember what was freed, and who touched it
#else
constexpr double kMaxMiB = 600;
#endif
constexpr uint32_t kMaxFrame = 16'384;
constexpr uint32_t kMaxFramesAtOnce = 4096;

// One connection with all the calls it may have, each a message that never ends. It keeps to the
// windows that the server grants, which else would just end the connection.
class HalfSender {
 public:
  // Frames of so many bytes, no more.
  explicit HalfSender(int port, uint32_t in_frame = kMaxFrame)
      : in_frame_(in_frame), raw_(port), thread_([this] { Run(); }) {}
  ~HalfSender() {
    raw_.End();
    thread_.join();
  }

 private:
  struct Message {
    int64_t window;
    uint32_t left = kMessageBytes - 1;
  };

  void Run() {
    std::string opening = kPreface;
    for (uint32_t i = 0; i < kCallsOnConnection; ++i) {
      const uint32_t stream = 2 * i + 1;
      messages_.emplace(stream, Message{.window = initial_});
      opening += Headers(stream, "/headgate.v1.ThrottlerService/BatchCheck");
      Grow(stream, opening, Number(0, 1) + Number(kMessageBytes, 4));
    }
    if (!raw_.SendAll(opening)) return;
    bool sent = true;
    std::string received;
    while (raw_.Receive(sent ? absl::ZeroDuration() : absl::Milliseconds(50), received)) {
      while (const auto frame = TakeFrame(received)) Obey(*frame);
      std::string frames;
      for (auto& [stream, message] : messages_) {
        const auto room = static_cast<size_t>(
            std::clamp<int64_t>(std::min({window_, message.window, int64_t{message.left}}), 0,
                                std::min(kMaxFrame, kMaxFramesAtOnce * in_frame_)));
        message.left -= static_cast<uint32_t>(room);
        Fill(stream, frames, room);
      }
      sent = !frames.empty();
      if (sent && !raw_.SendAll(frames)) return;
    }
  }
  // So many bytes of its message.
  void Fill(uint32_t stream, std::string& frames, size_t size) {
    const std::string whole = Frame(0, 0, stream, std::string(in_frame_, '\0'));
    for (size_t i = 0; i < size / in_frame_; ++i) frames += whole;
    const size_t rest = size % in_frame_;
    if (rest > 0) frames += Frame(0, 0, stream, std::string(rest, '\0'));
    window_ -= static_cast<int64_t>(size);
    messages_.at(stream).window -= static_cast<int64_t>(size);
  }
  void Grow(uint32_t stream, std::string& frames, const std::string& payload) {
    frames += Frame(0, 0, stream, payload);
    const auto size = static_cast<int64_t>(payload.size());
    window_ -= size;
    messages_.at(stream).window -= size;
  }
  void Obey(const ReceivedFrame& frame) {
    constexpr char kSettings = 4;
    constexpr char kPing = 6;
    constexpr char kWindowUpdate = 8;
    constexpr uint32_t kInitialWindow = 4;
    const bool ack = (frame.flags & 1) != 0;
    if (frame.type == kWindowUpdate) {
      const auto found = messages_.find(frame.stream);
      if (found != messages_.end()) found->second.window += NumberOf(frame.payload);
      if (frame.stream == 0) window_ += NumberOf(frame.payload);
    } else if (frame.type == kSettings && !ack) {
      for (std::string_view rest = frame.payload; rest.size() >= 6; rest.remove_prefix(6)) {
        if (NumberOf(rest.substr(0, 2)) != kInitialWindow) continue;
        const int64_t initial = NumberOf(rest.substr(2, 4));
        for (auto& [stream, message] : messages_) message.window += initial - initial_;
        initial_ = initial;
      }
      raw_.SendAll(Frame(kSettings, 1, 0, ""));
    } else if (frame.type == kPing && !ack) {
      raw_.SendAll(Frame(kPing, 1, 0, frame.payload));
    }
  }

  const uint32_t in_frame_;
  const Raw raw_;
  int64_t window_ = 65'535;   // of the connection
  int64_t initial_ = 65'535;  // of a new stream
  std::map<uint32_t, Message> messages_;
  std::thread thread_;
};

class HalfSent : public testing::Test {
 protected:
  ProcessUsage Usage() const {
    const auto usage = UsageOf(server_.pid());
    EXPECT_TRUE(usage.ok()) << usage.status();
    return usage.value_or(ProcessUsage());
  }
  // The share of an honest caller's Checks that are answered meanwhile: for 3 s, and of 20 at
  // least. Each has the time that a busy machine takes.
  double Attack(int connections, uint32_t in_frame = kMaxFrame) {
    std::list<HalfSender> senders;
    for (int i = 0; i < connections; ++i) senders.emplace_back(server_.port(), in_frame);
    constexpr int kLeastAsked = 20;
    int asked = 0;
    int answered = 0;
    const auto ask = [&] {
      ++asked;
      if (CheckOnce(server_.address()).ok()) ++answered;
      return false;
    };
    WaitUntil(ask, absl::Seconds(3));
    while (asked < kLeastAsked) ask();
    std::cout << connections << " connections: " << Usage().peak_mib << " MiB at most; " << answered
              << " of " << asked << " Checks answered\n";
    return static_cast<double>(answered) / asked;
  }

  RunningHeadgated server_{{.stateless = true}};
};

TEST_F(HalfSent, MessagesOfAnyNumberFitIntoTheMemoryOfTheChart) {
  std::cout << Usage().rss_mib << " MiB at first\n";
  EXPECT_GT(Attack(4), 0.5);
  if (TestScale() == 1) {
    for (const int connections : {1, 4, 16}) EXPECT_GT(Attack(connections), 0.5);
    // They leave the machine little time for anything else.
    EXPECT_GT(Attack(64), 0);
  }
  EXPECT_LT(Usage().peak_mib, kMaxMiB);
}

// gRPC keeps forty bytes for each frame, whatever is in it.
TEST_F(HalfSent, FramesOfOneByteEachTakeNoMoreMemory) {
  EXPECT_GT(Attack(4, 1), 0);
  if (TestScale() == 1) {
    EXPECT_GT(Attack(16, 1), 0);
  }
  EXPECT_LT(Usage().peak_mib, kMaxMiB);
}

}  // namespace
}  // namespace headgate::tls
