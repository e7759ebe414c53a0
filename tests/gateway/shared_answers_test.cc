// What is shared between pages, between whom, and for how long.

#include "server/gateway/shared_answers.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace headgate::gateway {
namespace {

class SharedAnswersTest : public testing::Test {
 protected:
  std::string Key() { return SharedAnswers::KeyOf(request_); }
  bool Finds(const std::string& key, int64_t at_ms) {
    return shared_.Find(key, at_ms * 1'000'000, body_);
  }
  void Keep(const std::string& key, int64_t at_ms, const std::string& body) {
    shared_.Keep(key, at_ms * 1'000'000, body);
  }

  SharedAnswersTest() {
    request_.path = "/v1/get_status";
    request_.body = "{}";
    request_.has_origin = true;
    request_.peer = &peer_;
  }

  http::Peer peer_;
  http::Request request_;
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

TEST_F(SharedAnswersTest, AreOfPagesThatRead) {
  EXPECT_NE(Key(), "");
  request_.path = "/v1/create_override";
  EXPECT_EQ(Key(), "");
  request_.path = "/v1/replay_throttle_log";
  EXPECT_EQ(Key(), "");
  request_.path = "/v1/get_status";
  request_.has_origin = false;
  EXPECT_EQ(Key(), "");
}

TEST_F(SharedAnswersTest, AreNotForWhoBringsOtherEvidence) {
  const std::string nobody = Key();
  request_.authorization = {"Bearer one"};
  const std::string one = Key();
  request_.authorization = {"Bearer two"};
  const std::string two = Key();
  request_.authorization = {};
  peer_.certificate_names = {"URI:spiffe://a"};
  const std::string certificate = Key();
  peer_.certificate_names = {};
  peer_.is_tls = true;
  const std::string tls = Key();
  peer_.is_tls = false;
  request_.body = R"({"target":"a"})";
  const std::string question = Key();
  const std::set<std::string> all = {nobody, one, two, certificate, tls, question};
  EXPECT_EQ(all.size(), 6u);
}

TEST_F(SharedAnswersTest, EndWithEachChange) {
  Keep("key", 0, "answer");
  shared_.Clear();
  EXPECT_FALSE(Finds("key", 0));
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
