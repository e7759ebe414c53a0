#include "server/remember/throttle_log/check_totals.h"

#include <string>

#include "gtest/gtest.h"

namespace headgate::throttle_log {
namespace {

RowKey DeniedKey(const std::string& identity, const std::string& budget) {
  RowKey key;
  key.target = "t";
  key.identity = identity;
  key.outcome = Outcome::kDenied;
  key.cause = {
      .reason = engine::Reason::kCapacity, .limit = engine::Limit::kRate, .budget = budget};
  return key;
}

TEST(CheckTotals, AddsUpOverIdentitiesAndRounds) {
  CheckTotals totals;
  totals.Add(DeniedKey("a", "x"), {.checks = 2, .cost = 5});
  totals.Add(DeniedKey("b", "x"), {.checks = 3, .cost = 1});
  totals.Add(DeniedKey("a", "y"), {.checks = 1, .cost = 1});
  totals.Add(DeniedKey("a", "x"), {.checks = 4, .cost = 0.5});
  ASSERT_EQ(totals.all().size(), 2);
  const auto& [kind, sum] = *totals.all().begin();
  EXPECT_EQ(kind.budget, "x");
  EXPECT_EQ(kind.outcome, Outcome::kDenied);
  EXPECT_EQ(sum.checks, 9);
  EXPECT_EQ(sum.cost, 6.5);
}

TEST(CheckTotals, CountsWithoutNamesBeyondItsBound) {
  CheckTotals totals(3);
  for (int i = 0; i < 100; ++i) {
    totals.Add(DeniedKey("a", std::to_string(i)), {.checks = 1, .cost = 1});
  }
  EXPECT_EQ(totals.all().size(), 4);
  int64_t checks = 0;
  for (const auto& [kind, sum] : totals.all()) checks += sum.checks;
  EXPECT_EQ(checks, 100);
}

}  // namespace
}  // namespace headgate::throttle_log
