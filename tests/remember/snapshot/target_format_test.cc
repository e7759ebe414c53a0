// A target's state as bytes: read back as it was, and refused where it is not what was written.

#include "server/remember/snapshot/target_format.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "tests/remember/snapshot/busy_engine.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::snapshot {
namespace {

using engine::At;
using engine::SavedTarget;
using engine::TestEngine;

class TargetFormat : public testing::Test {
 protected:
  static engine::PolicySpec Policy() {
    engine::BudgetSpec split = engine::RateBudget("split", 10, 1000);
    split.split = engine::SplitByDepth{2};
    split.max_buckets = 16384;
    engine::BudgetSpec whole = engine::RateBudget("whole", 1e6, 1e6);
    whole.max_concurrency = 60000;
    engine::PolicySpec policy = engine::Budgets({split, whole});
    policy.targets.resize(1);
    policy.targets[0].name = "orders";
    return policy;
  }

  SavedTarget Saved() { return engine_->SaveTargets({"orders"}, At()).front().value(); }

  TestEngine engine_{Policy()};
};

TEST_F(TargetFormat, ReadsWhatItWrote) {
  for (int i = 0; i < 20; ++i) engine_.Check(absl::StrCat("job-", i, ":etl"), i + 1);
  const SavedTarget saved = Saved();
  const absl::StatusOr<SavedTarget> read = DecodeTarget(EncodeTarget(saved));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->target, "orders");
  EXPECT_EQ(read->debts.size(), 2U);
  EXPECT_EQ(read->permits.size(), 20U);
  EXPECT_EQ(EncodeTarget(*read), EncodeTarget(saved));
}

TEST_F(TargetFormat, WhatWasCutShortOrAlteredIsRefused) {
  engine_.Check("job:etl", 5);
  const std::string bytes = EncodeTarget(Saved());
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 16) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeTarget(bytes.substr(0, size)).status())) << size;
  }
  std::string altered = bytes;
  altered[bytes.size() / 2] ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(DecodeTarget(altered).status()));
}

TEST_F(TargetFormat, AnotherVersionIsSaidToBeOne) {
  std::string bytes = EncodeTarget(Saved());
  bytes[8] = kTargetFormatVersion + 1;
  const absl::Status status = DecodeTarget(bytes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(TargetFormat, WhatAControllerLearntGoesWithIt) {
  engine_.Check("job:etl", 5);
  ASSERT_TRUE(engine_->SetLearntControl("orders", "learnt", 0).ok());
  const std::string bytes = EncodeTarget(Saved());
  EXPECT_EQ(bytes[8], 2);
  const absl::StatusOr<SavedTarget> read = DecodeTarget(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->control, "learnt");
  EXPECT_EQ(read->permits.size(), 1U);
}

TEST_F(TargetFormat, SafeRatesGoWithIt) {
  SavedTarget saved = Saved();
  saved.safe_rates = {{7, SomeReservation()}};
  const std::string bytes = EncodeTarget(saved);
  EXPECT_EQ(bytes[8], 3);
  const absl::StatusOr<SavedTarget> read = DecodeTarget(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->safe_rates.size(), 1U);
  ExpectSomeReservation(read->safe_rates[0]);
  saved.safe_rates[0].reservation.charges[0].ledger = 2;  // there are two
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeTarget(EncodeTarget(saved)).status()));
}

// As servers write it that know nothing of controllers, and as they can read it.
TEST_F(TargetFormat, VersionOneIsReadAndWrittenWhereNoControllerLearntAnything) {
  engine_.Check("job:etl", 5);
  const std::string bytes = EncodeTarget(Saved());
  EXPECT_EQ(bytes[8], 1);
  const absl::StatusOr<SavedTarget> read = DecodeTarget(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->control, "");
  EXPECT_EQ(read->permits.size(), 1U);
}

// What an owner writes each 750 ms while so many buckets are charged all the time.
TEST_F(TargetFormat, TenThousandBucketsTakeLessThan300KilobytesASecond) {
  for (int i = 0; i < 10'000; ++i) {
    const engine::CheckAnswer answer = engine_.Check(absl::StrCat("job-", i, ":etl"), 50);
    ASSERT_EQ(answer.verdict, engine::Verdict::kAllowed);
    ASSERT_EQ(engine_.Report(answer.permit, 50), engine::ReportOutcome::kSettled);
  }
  const double bytes_per_s = static_cast<double>(EncodeTarget(Saved()).size()) / 0.75;
  RecordProperty("bytes_per_s", static_cast<int>(bytes_per_s));
  EXPECT_GT(bytes_per_s, 200e3);  // all of them are in it
  EXPECT_LT(bytes_per_s, 300e3);
}

}  // namespace
}  // namespace headgate::snapshot
