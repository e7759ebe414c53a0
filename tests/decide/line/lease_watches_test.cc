// When those who watch for an order are answered, and when they are not.
#include "server/decide/line/lease_watches.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::line {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kBeganNs = 1'000'000'000'000;

class LeaseWatchesTest : public ::testing::Test {
 protected:
  class Teller final : public Waiter {
   public:
    explicit Teller(LeaseWatchesTest& test) : test_(test) {}
    void Answer(int /*place*/, const Decided& decided) override {
      const std::string what = decided.status.ok()
                                   ? absl::StrCat("state ", decided.answer.grant.state)
                                   : std::string(decided.status.message());
      test_.log_.push_back(absl::StrCat(std::string(decided.request.identity), ": ", what));
    }
    bool MayWait(const engine::CheckRequest& request) override {
      return request.identity != test_.forbidden_;
    }

   private:
    LeaseWatchesTest& test_;
  };

  Entered Enter(const std::string& identity, absl::Duration wait = absl::Minutes(1)) {
    const engine::LeaseTerms terms{.watched = 1};
    return watches_.Enter({.identity = identity, .lease = &terms},
                          {.waiter = std::make_shared<Teller>(*this),
                           .until_ns = now_.monotonic_ns + absl::ToInt64Nanoseconds(wait)},
                          &ticket_);
  }
  // Until nothing is due; when to call again.
  absl::Duration Run() {
    for (;;) {
      const int64_t next_ns =
          watches_.Advance(now_, [this](const auto& request, auto& answer) -> absl::Status {
            ++examined_;
            const std::string identity(request.identity);
            if (on_examine_) std::exchange(on_examine_, nullptr)();
            if (identity == broken_) return absl::NotFoundError("no such target");
            const auto found = states_.find(identity);
            answer.grant.state = found == states_.end() ? 1 : found->second;
            answer.retry_after = next_change_;
            return absl::OkStatus();
          });
      if (next_ns == kNever) return absl::InfiniteDuration();
      if (next_ns > now_.monotonic_ns) return absl::Nanoseconds(next_ns - now_.monotonic_ns);
    }
  }
  void Pass(absl::Duration span) { now_.monotonic_ns += absl::ToInt64Nanoseconds(span); }
  std::vector<std::string> TakeLog() { return std::exchange(log_, {}); }

  LeaseWatches watches_;
  Now now_{.monotonic_ns = kBeganNs, .wall_ns = 0};
  std::map<std::string, uint64_t> states_;  // 1 where nothing else is said
  std::string broken_ = "";
  std::string forbidden_ = "-";
  absl::Duration next_change_ = absl::InfiniteDuration();
  std::function<void()> on_examine_;  // in the next examination
  uint64_t ticket_ = 0;
  int examined_ = 0;
  std::vector<std::string> log_;
};

TEST_F(LeaseWatchesTest, AnswersWhoseStateIsAnotherAndNobodyElse) {
  EXPECT_EQ(Enter("a"), Entered::kWaits);
  EXPECT_EQ(Enter("b"), Entered::kWaits);
  Run();
  EXPECT_THAT(log_, IsEmpty());
  states_["a"] = 2;
  EXPECT_TRUE(watches_.Changed());
  Run();
  EXPECT_THAT(TakeLog(), ElementsAre("a: state 2"));
  EXPECT_EQ(watches_.size(), 1);
}

TEST_F(LeaseWatchesTest, ExaminesEachOnceWhenItComesAndOnceForEachChange) {
  Enter("a");
  Enter("b");
  Run();
  EXPECT_EQ(examined_, 2);
  Run();
  EXPECT_EQ(examined_, 2);
  watches_.Changed();
  watches_.Changed();
  Run();
  EXPECT_EQ(examined_, 4);
}

TEST_F(LeaseWatchesTest, ThatChangedBeforeItCameIsAnswered) {
  states_["a"] = 2;
  Enter("a");
  Run();
  EXPECT_THAT(log_, ElementsAre("a: state 2"));
}

TEST_F(LeaseWatchesTest, ThatChangesWhileItIsExaminedIsExaminedAgain) {
  Enter("a");
  on_examine_ = [this] { EXPECT_TRUE(watches_.Changed()); };
  Run();
  EXPECT_EQ(examined_, 2);
}

TEST_F(LeaseWatchesTest, IsAnsweredWithTheSameStateWhenItsTimeIsUp) {
  Enter("a", absl::Seconds(10));
  Enter("b", absl::Seconds(20));
  EXPECT_EQ(Run(), absl::Seconds(10));
  Pass(absl::Seconds(10));
  EXPECT_EQ(Run(), absl::Seconds(10));
  EXPECT_THAT(log_, ElementsAre("a: state 1"));
}

TEST_F(LeaseWatchesTest, AreExaminedWhenTimeAloneMayChangeThem) {
  next_change_ = absl::Seconds(3);
  Enter("a");
  EXPECT_EQ(Run(), absl::Seconds(3));
  states_["a"] = 2;
  next_change_ = absl::InfiniteDuration();
  Pass(absl::Seconds(3));
  Run();
  EXPECT_THAT(log_, ElementsAre("a: state 2"));
}

TEST_F(LeaseWatchesTest, HearsOfTheErrorOfItsExamination) {
  Enter("a");
  Run();
  broken_ = "a";
  watches_.Changed();
  Run();
  EXPECT_THAT(log_, ElementsAre("a: no such target"));
}

TEST_F(LeaseWatchesTest, WhoLeavesIsNotAnswered) {
  Enter("a");
  Run();
  EXPECT_TRUE(watches_.Leave(ticket_));
  EXPECT_FALSE(watches_.Leave(ticket_));
  states_["a"] = 2;
  EXPECT_FALSE(watches_.Changed());
  Run();
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_EQ(watches_.held_bytes(), 0);
}

TEST_F(LeaseWatchesTest, WhoLeavesWhileItIsExaminedIsNotAnsweredEither) {
  states_["a"] = 2;
  Enter("a");
  on_examine_ = [this] { EXPECT_TRUE(watches_.Leave(ticket_)); };
  Run();
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_EQ(watches_.size(), 0);
  EXPECT_EQ(watches_.held_bytes(), 0);
}

TEST_F(LeaseWatchesTest, WhoMayNotAskAnyMoreIsToldSo) {
  Enter("a");
  Enter("b");
  Run();
  forbidden_ = "a";
  EXPECT_TRUE(watches_.AskAgain());
  Run();
  EXPECT_THAT(TakeLog(), ElementsAre(HasSubstr("a: the right to ask was withdrawn")));
}

TEST_F(LeaseWatchesTest, WhoseRightEndsWhileItIsExaminedIsToldSo) {
  Enter("a");
  on_examine_ = [this] {
    forbidden_ = "a";
    watches_.AskAgain();
  };
  Run();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("withdrawn")));
}

TEST_F(LeaseWatchesTest, AllAreAnsweredWhenTheyAreClosedAndNobodyComesAfterwards) {
  Enter("a");
  Enter("b");
  Run();
  watches_.Close(absl::UnavailableError("stops"), now_);
  EXPECT_THAT(TakeLog(), UnorderedElementsAre("a: stops", "b: stops"));
  EXPECT_EQ(Enter("c"), Entered::kClosed);
  EXPECT_EQ(watches_.size(), 0);
}

TEST_F(LeaseWatchesTest, TheOneInExaminationHearsOfTheCloseToo) {
  Enter("a");
  on_examine_ = [this] { watches_.Close(absl::UnavailableError("stops"), now_); };
  Run();
  EXPECT_THAT(log_, ElementsAre("a: stops"));
}

TEST_F(LeaseWatchesTest, AreAsManyAsIsSaidAndTakeAsMuchMemoryAsIsSaid) {
  for (size_t i = 0; i < LeaseWatches::kMost; ++i) {
    ASSERT_EQ(Enter("a-job-of-usual-length:etl"), Entered::kWaits);
  }
  EXPECT_EQ(Enter("one-more:etl"), Entered::kFull);
  Run();
  EXPECT_EQ(examined_, LeaseWatches::kMost);
  EXPECT_LE(watches_.held_bytes(), static_cast<int64_t>(500 * LeaseWatches::kMost));
  EXPECT_TRUE(watches_.Leave(ticket_));
  EXPECT_EQ(Enter("one-more:etl"), Entered::kWaits);
}

}  // namespace
}  // namespace headgate::line
