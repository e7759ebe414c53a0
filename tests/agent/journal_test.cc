#include "client/agent/journal.h"

#include <sys/wait.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Record kOne{.pid = 7,
                  .started_ticks = 70,
                  .means = {.kind = Means::Kind::kGroup, .group = "/cg/my group/child"},
                  .before = {.policy = 3, .io_priority = 16388, .group = "/cg/my group"}};
const Record kTwo{.pid = 8,
                  .started_ticks = 80,
                  .means = {.kind = Means::Kind::kAutogroup},
                  .before = {.autogroup_nice = -5}};

class JournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> Open() const {
    auto opened = Journal::Open(folder_.File("state"), absl::ZeroDuration());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  std::string Text() const {
    std::ifstream file(File());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string File() const { return folder_.File("state") + "/lowered"; }

  TempFolder folder_;
};

TEST_F(JournalTest, ANewOneHasWhatWasNotCrossedOut) {
  auto journal = Open();
  ASSERT_TRUE(journal->Add(kOne).ok());
  ASSERT_TRUE(journal->Add(kTwo).ok());
  ASSERT_TRUE(journal->Remove(8, 79).ok());  // another process
  journal.reset();
  journal = Open();
  EXPECT_THAT(journal->Records(), ElementsAre(kOne, kTwo));
  ASSERT_TRUE(journal->Remove(7, 70).ok());
  journal.reset();
  EXPECT_THAT(Open()->Records(), ElementsAre(kTwo));
}

TEST_F(JournalTest, ForgetsWhatIsOfAnotherLifeOfTheMachine) {
  ASSERT_TRUE(Open()->Add(kOne).ok());
  std::string text = Text();
  text.replace(text.find(" 1 ") + 3, 8, "ffffffff");
  std::ofstream(File()) << text;
  EXPECT_THAT(Open()->Records(), IsEmpty());
}

TEST_F(JournalTest, PassesOverALineThatWasCutOff) {
  ASSERT_TRUE(Open()->Add(kOne).ok());
  std::ofstream(File(), std::ios::app) << "+\t9\t90\t1\t0\t0";
  EXPECT_THAT(Open()->Records(), ElementsAre(kOne));
}

TEST_F(JournalTest, PassesOverWhatItNeverWrote) {
  ASSERT_TRUE(Open()->Add(kOne).ok());
  std::ofstream(File(), std::ios::app) << "+\t9\t90\t7\t0\t0\t0\t\t\n-\t7\n\n*\t7\t70\n";
  EXPECT_THAT(Open()->Records(), ElementsAre(kOne));
}

TEST_F(JournalTest, DoesNotGrowWithWhatComesAndGoes) {
  auto journal = Open();
  ASSERT_TRUE(journal->Add(kOne).ok());
  for (uint64_t i = 0; i < 20'000; ++i) {
    Record record = kTwo;
    record.started_ticks = i;
    ASSERT_TRUE(journal->Add(record).ok());
    ASSERT_TRUE(journal->Remove(8, i).ok());
  }
  EXPECT_LT(Text().size(), 300'000u);
  ASSERT_TRUE(journal->ReadAgain().ok());
  EXPECT_THAT(journal->Records(), ElementsAre(kOne));
}

TEST_F(JournalTest, IsOneAgentsAtATime) {
  auto first = Open();
  const auto second = Journal::Open(folder_.File("state"), absl::Milliseconds(30));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another agent"));
  first.reset();
  Open();
}

TEST_F(JournalTest, SaysThatTheFolderCannotBeMade) {
  const auto journal = Journal::Open("/nowhere/at/all", absl::ZeroDuration());
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(journal.status().message()), HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace headgate::agent
