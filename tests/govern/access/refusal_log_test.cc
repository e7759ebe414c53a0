#include "server/govern/access/refusal_log.h"

#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::access {
namespace {

using ::testing::ElementsAre;

TEST(RefusalLog, TellsFiveASecondAndCountsTheRest) {
  FakeClock clock;
  std::vector<uint64_t> untold;
  RefusalLog denials(clock,
                     [&](const ToldRefusal& denial) { untold.push_back(denial.untold_before); });
  const Refusal refusal{.reason = RefusalReason::kTag, .code = "TAG_NOT_GRANTED"};
  for (int i = 0; i < 100; ++i) denials.Note(refusal, "");
  EXPECT_THAT(untold, ElementsAre(0, 0, 0, 0, 0));
  clock.Advance(absl::Seconds(1));
  denials.Note(refusal, "");
  denials.Note(refusal, "");
  EXPECT_THAT(untold, ElementsAre(0, 0, 0, 0, 0, 95, 0));
  EXPECT_EQ(denials.counts()[static_cast<size_t>(RefusalReason::kTag)], 102U);
  EXPECT_EQ(denials.counts()[static_cast<size_t>(RefusalReason::kIdentity)], 0U);
}

TEST(RefusalLog, CountsWithoutAnybodyToTell) {
  FakeClock clock;
  RefusalLog denials(clock, nullptr);
  denials.Note({.reason = RefusalReason::kPermit}, "");
  EXPECT_EQ(denials.counts()[static_cast<size_t>(RefusalReason::kPermit)], 1U);
}

TEST(RefusalLog, EveryReasonHasALabelOfItsOwn) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < kRefusalReasons; ++i) {
    labels.emplace_back(ReasonLabel(static_cast<RefusalReason>(i)));
  }
  EXPECT_THAT(labels, ElementsAre("unauthenticated", "identity", "tag", "overrides", "logs",
                                  "status", "permit", "costs", "forgive", "servers", "agent"));
}

TEST(Quoted, IsOneLineOfBoundedLength) {
  EXPECT_EQ(Quoted("a\nb\x1b[31m'"), R"('a\nb\x1b[31m\'')");
  EXPECT_EQ(Quoted(std::string(101, 'a')), "'" + std::string(100, 'a') + "...'");
  EXPECT_EQ(Quoted("caf\xc3\xa9"), R"('caf\xc3\xa9')");
}

}  // namespace
}  // namespace headgate::access
