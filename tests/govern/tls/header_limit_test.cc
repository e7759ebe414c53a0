// Headers as large as proxies and tokens make them: a call that has them is one like any other, and
// does nothing to those beside it.

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

constexpr char kProbe[] = "/grpc.health.v1.Health/Check";
constexpr char kProbeWatch[] = "/grpc.health.v1.Health/Watch";

// A caller that keeps to the server's SETTINGS once it has seen them.
class Careful {
 public:
  explicit Careful(int port) : raw_(port) {
    raw_.SendAll(kPreface);
    constexpr char kSettings = 4;
    EXPECT_TRUE(WaitUntil([&] { return Next(kSettings, 0); }));
    raw_.SendAll(Frame(kSettings, 1, 0, ""));
  }

  void Call(uint32_t stream, const std::string& path, size_t more_headers = 0) {
    std::string fields = Headers(stream, path).substr(9);
    if (more_headers > 0) {
      // "x", and as many bytes: 127, and the rest in groups of seven bits.
      fields += std::string("\0\1x\x7f", 4);
      size_t rest = more_headers - 127;
      for (; rest >= 128; rest /= 128) fields += static_cast<char>(rest % 128 + 128);
      fields += static_cast<char>(rest);
      fields += std::string(more_headers, 'b');
    }
    constexpr size_t kInFrame = 16'384;
    std::string frames;
    for (size_t sent = 0; sent < fields.size(); sent += kInFrame) {
      const bool is_last = sent + kInFrame >= fields.size();
      frames += Frame(sent == 0 ? 1 : 9, is_last ? 4 : 0, stream, fields.substr(sent, kInFrame));
    }
    raw_.SendAll(frames + Frame(0, 1, stream, Number(0, 5)));
  }
  // Whether a message has come on that stream.
  bool IsAnswered(uint32_t stream) {
    return WaitUntil([&] { return Next(0, stream) || is_over_; }) && !is_over_;
  }
  // A call that is not ended, and taken back.
  void CallAndReset(uint32_t stream, const std::string& path) {
    raw_.SendAll(Headers(stream, path) + Frame(3, 0, stream, Number(8, 4)));
  }
  bool IsClosed() const { return raw_.IsClosed(); }

 private:
  // Whether such a frame has come; those before it are passed over.
  bool Next(char type, uint32_t stream) {
    for (;;) {
      while (const auto frame = TakeFrame(received_)) {
        if (frame->type == type && frame->stream == stream) return true;
      }
      const size_t before = received_.size();
      is_over_ = is_over_ || !raw_.Receive(absl::Milliseconds(10), received_);
      if (is_over_ || received_.size() == before) return false;
    }
  }

  const Raw raw_;
  std::string received_;
  bool is_over_ = false;
};

TEST(HeaderLimit, CallWithLargeHeadersIsAnsweredAndEndsNoOther) {
  const RunningHeadgated server({.stateless = true});
  Careful caller(server.port());
  caller.Call(1, kProbeWatch);
  ASSERT_TRUE(caller.IsAnswered(1));
  caller.Call(3, kProbe, 9'000);
  EXPECT_TRUE(caller.IsAnswered(3));
  caller.Call(5, kProbe, 60'000);
  EXPECT_TRUE(caller.IsAnswered(5));
  caller.Call(7, kProbe);
  EXPECT_TRUE(caller.IsAnswered(7));
  EXPECT_FALSE(caller.IsClosed());
}

// gRPC 1.51 has no other way, and docs/security.md says so.
TEST(HeaderLimit, CallWithLargerHeadersEndsItsConnection) {
  const RunningHeadgated server({.stateless = true});
  Careful caller(server.port());
  caller.Call(1, kProbe, 70'000);
  EXPECT_TRUE(WaitUntil([&] { return caller.IsClosed(); }));
}

// The guard sees the end of each call, however it ends, and forgets it.
TEST(HeaderLimit, ConnectionHasAnyNumberOfCallsOneAfterAnother) {
  const RunningHeadgated server({.stateless = true});
  Careful caller(server.port());
  uint32_t stream = 1;
  for (int i = 0; i < 500; ++i) {
    caller.Call(stream, kProbe);
    ASSERT_TRUE(caller.IsAnswered(stream)) << i;
    stream += 2;
    caller.CallAndReset(stream, kProbeWatch);
    stream += 2;
    caller.Call(stream, "/no/such");
    stream += 2;
  }
  EXPECT_FALSE(caller.IsClosed());
}

}  // namespace
}  // namespace headgate::tls
