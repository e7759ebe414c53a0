#include "client/agent/proc_text.h"

#include <unistd.h>

#include "client/scheduling/kernel_file.h"
#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

using scheduling::ReadSmallFile;

TEST(ProcText, ReadsWhoBeganAProcessAndWhen) {
  const auto stat = ParseStat(
      "1234 (postgres: a) b) S 1200 1234 1234 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2\n");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->parent, 1200);
  EXPECT_EQ(stat->started_ticks, 987654u);
  EXPECT_FALSE(ParseStat("").has_value());
  EXPECT_FALSE(ParseStat("1234 (postgres) S 1200").has_value());
}

TEST(ProcText, ReadsWhatTheKernelWritesOfThisProcess) {
  EXPECT_EQ(ParseStat(ReadSmallFile("/proc/self/stat").value_or(""))->parent, getppid());
  EXPECT_TRUE(ParseSchedstat(ReadSmallFile("/proc/self/schedstat").value_or("")).has_value());
}

TEST(ProcText, ReadsCapabilitiesThatAreInForce) {
  constexpr char kStatus[] = "Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000000000800000\n";
  EXPECT_TRUE(HasCapability(kStatus, 23));
  EXPECT_FALSE(HasCapability(kStatus, 22));
  EXPECT_FALSE(HasCapability("", 23));
}

TEST(ProcText, TellsAUserNamespaceFromTheMachine) {
  EXPECT_FALSE(IsMapOfUserNamespace("         0          0 4294967295\n"));
  EXPECT_TRUE(IsMapOfUserNamespace("         0     200000      65536\n"));
  EXPECT_TRUE(IsMapOfUserNamespace("         0          0          1\n         1 5 7\n"));
  EXPECT_FALSE(IsMapOfUserNamespace(""));  // a kernel without them
}

}  // namespace
}  // namespace headgate::agent
