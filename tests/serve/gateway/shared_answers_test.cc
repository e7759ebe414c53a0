// What is shared between pages, between whom, and for how long.

#include "server/serve/gateway/shared_answers.h"

#include <set>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace headgate::gateway {
namespace {

constexpr char kStatus[] = "/v1/get_status";

class SharedAnswersTest : public testing::Test {
 protected:
  bool Finds(const std::string& key, int64_t at_ms) {
    return shared_.Find(key, at_ms * 1'000'000, body_);
  }
  void Keep(const std::string& key, int64_t asked_ms, const std::string& body) {
    shared_.Keep(key, asked_ms * 1'000'000, body);
  }

  SharedAnswers shared_;
  std::string body_;
};

TEST_F(SharedAnswersTest, AreThereForLessThanASecond) {
  Keep("key", 1000, "answer");
  EXPECT_TRUE(Finds("key", 1899));
  EXPECT_EQ(body_, "answer");
  EXPECT_FALSE(Finds("key", 1900));
  EXPECT_FALSE(Finds("other", 1000));
}

TEST_F(SharedAnswersTest, AreOfMethodsForWhichOnlyRightsCount) {
  for (const char* path : {kStatus, "/v1/list_budgets", "/v1/query_throttle_log"}) {
    EXPECT_NE(SharedAnswers::KeyOf(path, "{}", ""), "") << path;
  }
  // Those that change something, or take long, or look at who the caller is; and any that is new.
  for (const char* path : {"/v1/create_override", "/v1/replay_throttle_log", "/v1/explain",
                           "/v1/list_costs", "/v1/list_anything"}) {
    EXPECT_EQ(SharedAnswers::KeyOf(path, "{}", ""), "") << path;
  }
  EXPECT_EQ(SharedAnswers::KeyOf(kStatus, std::string(5000, ' '), ""), "");
}

TEST_F(SharedAnswersTest, AreNotForWhoMaySeeOtherThingsOrAsksOtherThings) {
  const auto key = [](std::string_view body, std::string_view rights) {
    return SharedAnswers::KeyOf(kStatus, body, rights);
  };
  const std::set<std::string> all = {
      key("{}", ""),   key("{}", "a"),
      key("{}", "aa"), key("a{}", ""),
      key("", "a{}"),  key("a", "{}"),
      key("1:a", "1"), SharedAnswers::KeyOf("/v1/list_lines", "{}", "")};
  EXPECT_EQ(all.size(), 8u);
}

TEST_F(SharedAnswersTest, EndWithEachChange) {
  Keep("key", 5, "answer");
  shared_.Clear(7'000'000);
  EXPECT_FALSE(Finds("key", 8));
  // It was asked before, and may tell what was before.
  Keep("key", 6, "answer");
  EXPECT_FALSE(Finds("key", 8));
  Keep("key", 8, "answer");
  EXPECT_TRUE(Finds("key", 8));
}

TEST_F(SharedAnswersTest, TakeNoMoreRoomThanThereIs) {
  Keep("a", 0, std::string(SharedAnswers::kMostBytes - 10, 'a'));
  Keep("b", 1, std::string(100, 'b'));
  EXPECT_TRUE(Finds("a", 2));
  EXPECT_FALSE(Finds("b", 2));
  // What is over makes room, and so does what is replaced.
  Keep("b", 950, std::string(100, 'b'));
  EXPECT_TRUE(Finds("b", 951));
  Keep("b", 960, std::string(SharedAnswers::kMostBytes - 10, 'b'));
  EXPECT_TRUE(Finds("b", 961));
}

}  // namespace
}  // namespace headgate::gateway
