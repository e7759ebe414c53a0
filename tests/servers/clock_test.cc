// One server's wall clock is set, forth and back: leases go by the store's clock and by monotonic
// ones, so nobody notices.

#include <poll.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"

namespace headgate {
namespace {

constexpr char kLibrary[] = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

TEST(Clocks, AServerWhoseWallClockIsSetByAnHourGoesOnAsEver) {
  if (!std::ifstream(kLibrary)) GTEST_SKIP() << "setting a clock takes the package faketime";
  const TempFolder folder;
  const std::string offset = folder.File("offset");
  const auto set = [&](const char* by) { ReplaceFile(offset, by); };
  set("+0");
  Deployment servers({.lease = "1s",
                      .environment_of_first = {{"LD_PRELOAD", kLibrary},
                                               {"FAKETIME_TIMESTAMP_FILE", offset},
                                               {"FAKETIME_NO_CACHE", "1"},
                                               {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}}});
  ASSERT_TRUE(servers.AwaitOwners());
  const auto generations = [&] {
    const auto rows = servers.store().RunSql(
        "SELECT target, owner, generation FROM headgate_store.ownership ORDER BY target");
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.value_or(SqlRows());
  };
  // Each has its share by now.
  ASSERT_TRUE(WaitUntil([&] {
    const SqlRows before = generations();
    poll(nullptr, 0, 2'000);
    return before == generations();
  }));
  const SqlRows before = generations();
  SteadyCaller at_set(servers, 0, servers.targets()[0], 10);
  SteadyCaller at_other(servers, 1, servers.targets()[1], 10);
  for (const char* by : {"+1h", "-1h", "+0"}) {
    set(by);
    const int64_t asked = at_set.asked();
    EXPECT_TRUE(WaitUntil([&] { return at_set.asked() > asked + 80; }));
  }
  at_set.Stop();
  at_other.Stop();
  EXPECT_EQ(generations(), before);
  for (const SteadyCaller* caller : {&at_set, &at_other}) {
    EXPECT_EQ(caller->failed(), 0) << caller->last_error();
    // What the other server handed to this one just then may have to be asked anew: some waits of
    // gRPC go by the wall clock, and a connection is given up after 2 s of silence.
    EXPECT_LT(caller->longest(), absl::Seconds(8));
    EXPECT_LE(caller->admitted(), 500 + 100 * absl::ToDoubleSeconds(caller->span()));
    EXPECT_GE(caller->admitted(), 500);
  }
}

}  // namespace
}  // namespace headgate
