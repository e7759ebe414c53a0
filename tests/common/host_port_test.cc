#include "common/host_port.h"

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(HostPort, PortIsWhatFollowsTheHost) {
  EXPECT_EQ(PortOf("127.0.0.1:8081"), 8081);
  EXPECT_EQ(PortOf("[::1]:65535"), 65535);
  EXPECT_EQ(PortOf("gate.example:0"), 0);
}

TEST(HostPort, OtherFormsHaveNone) {
  for (const char* text : {"", "host", ":8081", "host:", "host:65536", "host:-1", "host:80x",
                           "::1:8081", "[]:8081", "a b:8081", "unix:/path:1", "http://host:8081"}) {
    EXPECT_EQ(PortOf(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace headgate
