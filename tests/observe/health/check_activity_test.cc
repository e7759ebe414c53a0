#include "server/observe/health/check_activity.h"

#include <memory>

#include "gtest/gtest.h"

namespace headgate::health {
namespace {

TEST(CheckActivity, WakesOnceUntilItIsRearmed) {
  CheckActivity activity;
  int woken = 0;
  activity.SetWaker([&woken] { ++woken; });
  activity.Note();
  activity.Note();
  EXPECT_EQ(woken, 1);
  activity.Rearm();
  activity.Note();
  EXPECT_EQ(woken, 2);
}

TEST(CheckActivity, OutlivesItsWaker) {
  CheckActivity activity;
  int woken = 0;
  activity.SetWaker([&woken] { ++woken; });
  activity.SetWaker(nullptr);
  activity.Note();
  EXPECT_EQ(woken, 0);
}

class CheckActivityBookTest : public ::testing::Test {
 protected:
  CheckActivityBookTest() {
    a_->SetWaker([this] { ++a_woken_; });
    b_->SetWaker([this] { ++b_woken_; });
  }
  std::shared_ptr<CheckActivity> a_ = std::make_shared<CheckActivity>();
  std::shared_ptr<CheckActivity> b_ = std::make_shared<CheckActivity>();
  int a_woken_ = 0;
  int b_woken_ = 0;
  CheckActivityBook book_;
};

TEST_F(CheckActivityBookTest, FindsTheTargetByName) {
  book_.Set({{"a", a_}, {"b", b_}});
  book_.OnCheck("b");
  EXPECT_EQ(a_woken_, 0);
  EXPECT_EQ(b_woken_, 1);
}

TEST_F(CheckActivityBookTest, NoNameStandsForTheOnlyTarget) {
  book_.Set({{"a", a_}});
  book_.OnCheck("");
  EXPECT_EQ(a_woken_, 1);
}

TEST_F(CheckActivityBookTest, UnknownTargetIsNobodysDemand) {
  book_.OnCheck("a");
  book_.Set({{"a", a_}});
  book_.OnCheck("x");
  EXPECT_EQ(a_woken_, 0);
}

TEST_F(CheckActivityBookTest, NewBookReplacesTheOldOne) {
  book_.Set({{"a", a_}});
  book_.OnCheck("a");
  book_.Set({{"b", b_}});
  a_->Rearm();
  book_.OnCheck("a");
  book_.OnCheck("b");
  EXPECT_EQ(a_woken_, 1);
  EXPECT_EQ(b_woken_, 1);
}

}  // namespace
}  // namespace headgate::health
