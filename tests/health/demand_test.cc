#include "server/health/demand.h"

#include <memory>

#include "gtest/gtest.h"

namespace headgate::health {
namespace {

TEST(Demand, WakesOnceUntilItIsRearmed) {
  Demand demand;
  int woken = 0;
  demand.SetWaker([&woken] { ++woken; });
  demand.Note();
  demand.Note();
  EXPECT_EQ(woken, 1);
  demand.Rearm();
  demand.Note();
  EXPECT_EQ(woken, 2);
}

TEST(Demand, OutlivesItsWaker) {
  Demand demand;
  int woken = 0;
  demand.SetWaker([&woken] { ++woken; });
  demand.SetWaker(nullptr);
  demand.Note();
  EXPECT_EQ(woken, 0);
}

class DemandBookTest : public ::testing::Test {
 protected:
  DemandBookTest() {
    a_->SetWaker([this] { ++a_woken_; });
    b_->SetWaker([this] { ++b_woken_; });
  }
  std::shared_ptr<Demand> a_ = std::make_shared<Demand>();
  std::shared_ptr<Demand> b_ = std::make_shared<Demand>();
  int a_woken_ = 0;
  int b_woken_ = 0;
  DemandBook book_;
};

TEST_F(DemandBookTest, FindsTheTargetByName) {
  book_.Set({{"a", a_}, {"b", b_}});
  book_.OnCheck("b");
  EXPECT_EQ(a_woken_, 0);
  EXPECT_EQ(b_woken_, 1);
}

TEST_F(DemandBookTest, NoNameStandsForTheOnlyTarget) {
  book_.Set({{"a", a_}});
  book_.OnCheck("");
  EXPECT_EQ(a_woken_, 1);
}

TEST_F(DemandBookTest, UnknownTargetIsNobodysDemand) {
  book_.OnCheck("a");
  book_.Set({{"a", a_}});
  book_.OnCheck("x");
  EXPECT_EQ(a_woken_, 0);
}

TEST_F(DemandBookTest, NewBookReplacesTheOldOne) {
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
