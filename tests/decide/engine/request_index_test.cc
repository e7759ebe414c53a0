#include "server/decide/engine/request_index.h"

#include "gtest/gtest.h"
#include "server/decide/engine/permit_table.h"

namespace headgate::engine {
namespace {

constexpr int64_t kLife = 60;

class RequestIndexTest : public testing::Test {
 protected:
  // Asks at `now`; a new decision admits.
  CheckAnswer Ask(uint64_t key, int64_t now, Verdict verdict = Verdict::kAllowed) {
    CheckAnswer answer;
    const absl::Status status = index_.Once(key, now, answer, [&] {
      ++decisions_;
      answer.verdict = verdict;
      answer.permit = 0;
      answer.predicted_cost = 7;
      answer.priority = 3;
      if (verdict == Verdict::kAllowed) {
        const uint32_t slot = permits_.Claim({.key = 1, .name = "etl"}, now);
        permits_.body(slot).charges_used = 0;
        permits_.body(slot).holds_concurrency = false;
        answer.permit = permits_.Publish(slot, now + kLife);
      }
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok());
    return answer;
  }
  void Report(PermitId id) {
    uint32_t slot = 0;
    ASSERT_EQ(permits_.Settle(id, slot), PermitTable::Found::kSettling);
    permits_.Settled(slot);
  }

  ConcurrencyTable concurrency_{64};
  PermitTable permits_{1024, 1, concurrency_};
  RequestIndex index_{permits_};
  int decisions_ = 0;
};

TEST_F(RequestIndexTest, DecidesOnceWhileThePermitLives) {
  const CheckAnswer first = Ask(5, 0);
  const CheckAnswer again = Ask(5, kLife - 1);
  EXPECT_EQ(decisions_, 1);
  EXPECT_EQ(again.permit, first.permit);
  EXPECT_EQ(again.verdict, Verdict::kAllowed);
  EXPECT_EQ(again.predicted_cost, 7);
  EXPECT_EQ(again.priority, 3);
}

TEST_F(RequestIndexTest, DecidesAgainAfterThePermitExpired) {
  const PermitId first = Ask(5, 0).permit;
  EXPECT_NE(Ask(5, kLife).permit, first);
  EXPECT_EQ(decisions_, 2);
}

TEST_F(RequestIndexTest, DecidesAgainAfterThePermitWasReported) {
  Report(Ask(5, 0).permit);
  Ask(5, 0);
  EXPECT_EQ(decisions_, 2);
}

TEST_F(RequestIndexTest, DenialsAreDecidedAnew) {
  Ask(5, 0, Verdict::kDenied);
  EXPECT_EQ(Ask(5, 0).verdict, Verdict::kAllowed);
  EXPECT_EQ(decisions_, 2);
}

TEST_F(RequestIndexTest, KeysAreApart) { EXPECT_NE(Ask(5, 0).permit, Ask(6, 0).permit); }

TEST_F(RequestIndexTest, ErrorsAreReturnedAndNotKept) {
  CheckAnswer answer;
  const absl::Status status =
      index_.Once(5, 0, answer, [] { return absl::ResourceExhaustedError("full"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(index_.size(), 0U);
}

TEST_F(RequestIndexTest, KeepsWarnings) {
  CheckAnswer answer;
  const auto decide = [&] {
    const uint32_t slot = permits_.Claim({.key = 1, .name = "etl"}, 0);
    permits_.body(slot).charges_used = 0;
    permits_.body(slot).holds_concurrency = false;
    answer.verdict = Verdict::kAllowed;
    answer.permit = permits_.Publish(slot, kLife);
    answer.violations.emplace_back().budget = 4;
    return absl::OkStatus();
  };
  ASSERT_TRUE(index_.Once(5, 0, answer, decide).ok());
  CheckAnswer again;
  ASSERT_TRUE(index_.Once(5, 0, again, decide).ok());
  ASSERT_EQ(again.violations.size(), 1U);
  EXPECT_EQ(again.violations[0].budget, 4U);
}

TEST_F(RequestIndexTest, ReusedAnswerHasNoOldViolations) {
  Ask(5, 0);
  CheckAnswer answer;
  answer.violations.emplace_back();
  answer.retry_after = absl::Seconds(3);
  ASSERT_TRUE(index_.Once(5, 0, answer, [] { return absl::InternalError("no"); }).ok());
  EXPECT_TRUE(answer.violations.empty());
  EXPECT_EQ(answer.retry_after, absl::ZeroDuration());
}

TEST_F(RequestIndexTest, DropsEntriesOfEndedPermits) {
  for (uint64_t key = 0; key < 100'000; ++key) Report(Ask(key, 0).permit);
  EXPECT_LE(index_.size(), 64U * 64U);
}

TEST_F(RequestIndexTest, KeepsEntriesOfLivePermits) {
  for (uint64_t key = 0; key < 500; ++key) Ask(key, 0);
  for (uint64_t key = 0; key < 500; ++key) Ask(key, 1);
  EXPECT_EQ(decisions_, 500);
}

}  // namespace
}  // namespace headgate::engine
