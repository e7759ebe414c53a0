// What status warns of: jobs that no rule matches, for capitals alone.

#include "server/app/unmatched_names.h"

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::shared_ptr<const config::IdentityNames> NamesOf(const std::string& selector) {
  auto names = std::make_shared<config::IdentityNames>();
  names->AddIdentity(selector, "all of it");
  return names;
}

class UnmatchedNamesTest : public testing::Test {
 protected:
  UnmatchedNamesTest() { names_.Apply(NamesOf("etl")); }

  FakeClock clock_;
  UnmatchedNames names_{clock_};
};

TEST_F(UnmatchedNamesTest, SaysWhichRuleIsForAnotherSpelling) {
  names_.Note("ETL", 1);
  EXPECT_THAT(
      names_.Warnings(),
      ElementsAre("no rule matched 1 Check of 'ETL', and nothing limits them: identities "
                  "are case-sensitive; did you mean 'etl', which rule 'all of it' is for?"));
}

TEST_F(UnmatchedNamesTest, CountsAllJobsOfARootTogether) {
  names_.Note("job-7:ETL", 3);
  names_.Note("job-8:ETL", 4);
  EXPECT_THAT(names_.Warnings(),
              ElementsAre("no rule matched 7 Checks of 'ETL', such as of 'job-7:ETL', and nothing "
                          "limits them: identities are case-sensitive; did you mean 'etl', which "
                          "rule 'all of it' is for?"));
}

TEST_F(UnmatchedNamesTest, SaysNothingOfWhatNoRuleIsForInAnySpelling) {
  names_.Note("report", 5);
  EXPECT_THAT(names_.Warnings(), IsEmpty());
}

TEST_F(UnmatchedNamesTest, ForgetsWhatHasNotComeForTenMinutes) {
  names_.Note("ETL", 1);
  clock_.Advance(absl::Minutes(9));
  names_.Note("ETL", 1);
  clock_.Advance(absl::Minutes(10));
  EXPECT_THAT(names_.Warnings(), SizeIs(1));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(names_.Warnings(), IsEmpty());
}

TEST_F(UnmatchedNamesTest, OtherRulesBeginAnew) {
  names_.Note("ETL", 1);
  names_.Apply(NamesOf("ETL"));
  EXPECT_THAT(names_.Warnings(), IsEmpty());
  names_.Note("ETL", 1);
  EXPECT_THAT(names_.Warnings(), IsEmpty());
  names_.Apply(nullptr);
  names_.Note("etl", 1);
  EXPECT_THAT(names_.Warnings(), IsEmpty());
}

// Whoever makes names up does not fill the memory, and not for good.
TEST_F(UnmatchedNamesTest, KnowsOnlySoMany) {
  names_.Apply(NamesOf("abcdefgh"));
  std::string spelled = "abcdefgh";
  for (int i = 1; i <= 100; ++i) {
    for (size_t bit = 0; bit < spelled.size(); ++bit) {
      spelled[bit] = static_cast<char>((i >> bit & 1) != 0 ? 'A' + bit : 'a' + bit);
    }
    names_.Note(spelled, 1);
  }
  EXPECT_THAT(names_.Warnings(), SizeIs(UnmatchedNames::kMost));
  clock_.Advance(absl::Minutes(11));
  names_.Note("ABCDEFGH", 1);
  EXPECT_THAT(names_.Warnings(), SizeIs(1));
}

}  // namespace
}  // namespace headgate::app
