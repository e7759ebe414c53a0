// What is remembered of the newest Checks of each identity.
#include "server/remember/throttle_log/last_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/recorder_fixture.h"

namespace headgate::throttle_log {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

Now AtWholeSecond(int64_t s) {
  return {.monotonic_ns = s * 1'000'000'000, .wall_ns = s * 1'000'000'000};
}

// A Check of the subject `key`.
void Note(LastChecks& last, uint64_t key, bool allowed, const engine::CheckRequest& request,
          Now now) {
  engine::CheckAnswer answer;
  answer.verdict = allowed ? engine::Verdict::kAllowed : engine::Verdict::kDenied;
  answer.subject_key = key;
  answer.predicted_cost = 7;
  last.Note(request, answer, now);
}

TEST(LastChecks, AreTheNewestThatWasAllowedAndTheNewestThatWasDenied) {
  LastChecks last(nullptr);
  const engine::Tag tag{.key = "tenant", .value = "acme"};
  Note(last, 1, true, {.identity = "etl", .estimated_cost = 5}, AtWholeSecond(10));
  Note(last, 1, true, {.identity = "etl", .pattern = "copy"}, AtWholeSecond(20));
  Note(last, 1, false, {.identity = "etl", .estimated_cost = 9, .tags = {&tag, 1}},
       AtWholeSecond(30));
  const std::vector<LastCheck> checks = last.Of(1);
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_FALSE(checks[0].allowed);
  EXPECT_EQ(checks[0].estimated_cost, 9);
  EXPECT_THAT(checks[0].tags, ElementsAre(Pair("tenant", "acme")));
  EXPECT_TRUE(checks[1].allowed);
  EXPECT_EQ(checks[1].at, absl::FromUnixSeconds(20));
  EXPECT_EQ(checks[1].estimated_cost, std::nullopt);
  EXPECT_EQ(checks[1].pattern, "copy");
  EXPECT_THAT(last.Of(3), IsEmpty());
}

TEST(LastChecks, OfTooManyTheOldestGoAndMemoryIsGivenBack) {
  HeldBytes held;
  LastChecks last(&held, 20'000);
  const std::string pattern(300, 'x');
  for (uint64_t key = 1; key <= 1000; ++key) {
    Note(last, key, true, {.identity = "etl", .pattern = pattern}, AtWholeSecond(1));
    Note(last, 1, true, {.identity = "etl"}, AtWholeSecond(1));  // which is used all the time
  }
  EXPECT_LE(held.bytes(), 20'000);
  EXPECT_GT(held.bytes(), 15'000);
  EXPECT_THAT(last.Of(1), SizeIs(1));
  EXPECT_THAT(last.Of(500), IsEmpty());
  ASSERT_THAT(last.Of(1000), SizeIs(1));
  EXPECT_EQ(last.Of(1000)[0].pattern.size(), LastChecks::kMostText);
}

TEST(Recorder, RemembersOneCheckOfAnIdentityBetweenTwoCollections) {
  Recording log(engine::OneBudget(engine::RateBudget("b", 10, 100)));
  const uint64_t key = log.Check("job:etl", 1).subject_key;
  log.Check("job:etl", 2);
  ASSERT_THAT(log.recorder.LastChecksOf(key), SizeIs(1));
  EXPECT_EQ(log.recorder.LastChecksOf(key)[0].estimated_cost, 1);
  log.Collect();
  log.Check("job:etl", 3);
  log.Check("job:etl", 500);
  ASSERT_THAT(log.recorder.LastChecksOf(key), SizeIs(2));
  EXPECT_EQ(log.recorder.LastChecksOf(key)[0].estimated_cost, 3);
  EXPECT_EQ(log.recorder.LastChecksOf(key)[1].estimated_cost, 500);
}

}  // namespace
}  // namespace headgate::throttle_log
