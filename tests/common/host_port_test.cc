#include "common/host_port.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(HostPort, HostAndPortAreApart) {
  const auto parts = [](const char* text) {
    const std::optional<HostPort> to = ParseHostPort(text);
    return to.has_value() ? to->host + " " + std::to_string(to->port) : "";
  };
  EXPECT_EQ(parts("127.0.0.1:8081"), "127.0.0.1 8081");
  EXPECT_EQ(parts("[::1]:65535"), "::1 65535");
  EXPECT_EQ(parts("gate.example:0"), "gate.example 0");
}

TEST(HostPort, OtherFormsHaveNone) {
  for (const char* text : {"", "host", ":8081", "host:", "host:65536", "host:-1", "host:80x",
                           "::1:8081", "[]:8081", "a b:8081", "unix:/path:1", "http://host:8081"}) {
    EXPECT_FALSE(ParseHostPort(text).has_value()) << text;
  }
}

TEST(Loopback, IsWhatOnlyThisMachineCanReach) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "db", "127.evil", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace headgate
