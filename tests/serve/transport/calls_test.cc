#include "server/serve/transport/calls.h"

#include <string>
#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::transport {
namespace {

using testing::ElementsAre;

class Unguarded final : public CallListener {
 public:
  void OnUnguarded(const Call& call, Encryption encryption) override {
    heard.push_back(std::string(call.peer) +
                    (encryption == Encryption::kTls ? " TLS" : " plaintext"));
  }

  std::vector<std::string> heard;
};

TEST(CallsTest, TellsOnceForEachEncryptionThatNothingWasSeen) {
  FakeClock clock;
  Unguarded listener;
  Calls calls(clock, 1, listener);
  const auto tell = [&](const char* peer, Encryption encryption) {
    calls.TellUnguarded({.method = "Check", .request_id = "", .peer = peer}, encryption);
  };
  tell("inproc", Encryption::kNone);
  tell("ipv4:10.0.0.1:4711", Encryption::kTls);
  tell("ipv4:10.0.0.2:4711", Encryption::kTls);
  tell("ipv6:%5B::1%5D:4711", Encryption::kNone);
  tell("ipv6:%5B::1%5D:4712", Encryption::kNone);
  EXPECT_THAT(listener.heard,
              ElementsAre("ipv4:10.0.0.1:4711 TLS", "ipv6:%5B::1%5D:4711 plaintext"));
}

}  // namespace
}  // namespace headgate::transport
