#include "server/access/denials.h"

#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::access {
namespace {

using ::testing::ElementsAre;

TEST(Denials, TellsFiveASecondAndCountsTheRest) {
  FakeClock clock;
  std::vector<uint64_t> untold;
  Denials denials(clock, [&](const Denial& denial) { untold.push_back(denial.untold_before); });
  const Refusal refusal{.reason = DenialReason::kTag, .code = "TAG_NOT_GRANTED"};
  for (int i = 0; i < 100; ++i) denials.Note(refusal, "");
  EXPECT_THAT(untold, ElementsAre(0, 0, 0, 0, 0));
  clock.Advance(absl::Seconds(1));
  denials.Note(refusal, "");
  denials.Note(refusal, "");
  EXPECT_THAT(untold, ElementsAre(0, 0, 0, 0, 0, 95, 0));
  EXPECT_EQ(denials.counts()[static_cast<size_t>(DenialReason::kTag)], 102U);
  EXPECT_EQ(denials.counts()[static_cast<size_t>(DenialReason::kIdentity)], 0U);
}

TEST(Denials, CountsWithoutAnybodyToTell) {
  FakeClock clock;
  Denials denials(clock, nullptr);
  denials.Note({.reason = DenialReason::kPermit}, "");
  EXPECT_EQ(denials.counts()[static_cast<size_t>(DenialReason::kPermit)], 1U);
}

TEST(Denials, EveryReasonHasALabelOfItsOwn) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < kDenialReasons; ++i) {
    labels.emplace_back(ReasonLabel(static_cast<DenialReason>(i)));
  }
  EXPECT_THAT(labels, ElementsAre("unauthenticated", "identity", "tag", "overrides", "logs",
                                  "status", "permit"));
}

TEST(Quoted, IsOneLineOfBoundedLength) {
  EXPECT_EQ(Quoted("a\nb\x1b[31m'"), R"('a\nb\x1b[31m\'')");
  EXPECT_EQ(Quoted(std::string(101, 'a')), "'" + std::string(100, 'a') + "...'");
  EXPECT_EQ(Quoted("caf\xc3\xa9"), R"('caf\xc3\xa9')");
}

}  // namespace
}  // namespace headgate::access
