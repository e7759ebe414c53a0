// What one owner measured, in bytes for the next one.

#include "server/app/health_handover.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace headgate::app {
namespace {

health::HandedSample Sample() {
  health::HandedSample sample;
  sample.servers = {{"primary", 1'000'000'000}, {"standby-1", 5}};
  sample.instances = {{{"load", 12.5, ""}, 1'000'000'000},
                      {{"lag on standby-1", std::nullopt, "not streaming"}, 7},
                      {{"lag on standby-2", std::numeric_limits<double>::infinity(), ""}, 7}};
  return sample;
}

TEST(HealthHandover, IsReadAsItWasWrittenAndOlder) {
  const health::HandedSample read = DecodeHealth(EncodeHealth(Sample()), absl::Milliseconds(250));
  ASSERT_EQ(read.servers.size(), 2U);
  EXPECT_EQ(read.servers[0].name, "primary");
  EXPECT_EQ(read.servers[0].age_ns, 1'250'000'000);
  ASSERT_EQ(read.instances.size(), 3U);
  EXPECT_EQ(read.instances[0].reading.instance, "load");
  EXPECT_EQ(read.instances[0].reading.value, 12.5);
  EXPECT_EQ(read.instances[0].age_ns, 1'250'000'000);
  EXPECT_EQ(read.instances[1].reading.value, std::nullopt);
  EXPECT_EQ(read.instances[1].reading.error, "not streaming");
  EXPECT_TRUE(std::isinf(*read.instances[2].reading.value));
}

TEST(HealthHandover, OfATargetThatIsNotMeasuredThereAreNoBytes) {
  EXPECT_EQ(EncodeHealth({}), "");
  EXPECT_TRUE(DecodeHealth("", absl::ZeroDuration()).empty());
}

// The next owner measures the target anyway.
TEST(HealthHandover, WhatIsDamagedOrOfAnotherVersionIsNothing) {
  const std::string bytes = EncodeHealth(Sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    EXPECT_TRUE(DecodeHealth(damaged, absl::ZeroDuration()).empty()) << i;
    EXPECT_TRUE(DecodeHealth(bytes.substr(0, i), absl::ZeroDuration()).empty()) << i;
  }
}

// A clock of the store's that was set back makes nothing newer than it was.
TEST(HealthHandover, IsNeverNewerThanItWas) {
  EXPECT_EQ(DecodeHealth(EncodeHealth(Sample()), absl::Seconds(-10)).servers[0].age_ns,
            1'000'000'000);
}

}  // namespace
}  // namespace headgate::app
