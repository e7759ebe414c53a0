#include "server/serve/peers/forwarded_wait.h"

#include <memory>

#include "gtest/gtest.h"

namespace headgate::peers {
namespace {

// What becomes of a call, as the call hears it.
struct Heard final : transport::ParkListener {
  void OnGone() override { ++gone; }
  void OnAnswered(bool was_delivered) override { ++(was_delivered ? delivered : lost); }

  int gone = 0, delivered = 0, lost = 0;
};

// The message that it came in.
struct Message final : ForwardedWait::Parked {
  Message() : ParkedCall(INT64_MAX) {}
  bool Answer(const grpc::Status& /*status*/, peer::v1::ForwardResponse& response) override {
    if (!open) return false;
    ++answers;
    has_answer = response.answers_size() == 1;
    return true;
  }

  bool open = true;
  int answers = 0;
  bool has_answer = false;
};

struct ForwardedWaitTest : testing::Test {
  ForwardedWaitTest() { wait->SetParked(message); }
  bool Answer() {
    ForwardedAnswer answer;
    return wait->Answer(grpc::Status(), answer);
  }
  void Expect(int gone, int delivered, int lost) const {
    EXPECT_EQ(heard->gone, gone);
    EXPECT_EQ(heard->delivered, delivered);
    EXPECT_EQ(heard->lost, lost);
    EXPECT_EQ(forgotten, gone + delivered + lost);
  }

  const std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  const std::shared_ptr<Message> message = std::make_shared<Message>();
  int forgotten = 0;
  const std::shared_ptr<ForwardedWait> wait =
      std::make_shared<ForwardedWait>(heard, INT64_MAX, [this] { ++forgotten; });
};

TEST_F(ForwardedWaitTest, HearsOfDeliveryFromTheOtherServer) {
  EXPECT_TRUE(Answer());
  wait->OnAnswered(true);  // handed to the connection
  Expect(0, 0, 0);
  wait->CallerEnded(true);
  Expect(0, 1, 0);
  EXPECT_TRUE(message->has_answer);
}

TEST_F(ForwardedWaitTest, CallerThatIsGoneBeforeTheAnswerIsGone) {
  wait->CallerEnded(false);
  Expect(1, 0, 0);
  EXPECT_FALSE(Answer());
  // The message is not left parked.
  EXPECT_EQ(message->answers, 1);
  EXPECT_FALSE(message->has_answer);
}

TEST_F(ForwardedWaitTest, CallerThatIsGoneWhenTheAnswerArrivesHasNotHeardOfIt) {
  EXPECT_TRUE(Answer());
  wait->CallerEnded(false);
  Expect(0, 0, 1);
}

TEST_F(ForwardedWaitTest, StreamThatEndsLeavesWhoWaitsGone) {
  wait->OnGone();
  Expect(1, 0, 0);
  wait->StreamEnded();
  Expect(1, 0, 0);
}

TEST_F(ForwardedWaitTest, AnswerThatMayHaveArrivedCountsAsDelivered) {
  EXPECT_TRUE(Answer());
  wait->OnAnswered(true);
  wait->StreamEnded();
  Expect(0, 1, 0);
}

TEST_F(ForwardedWaitTest, AnswerThatNeverLeftIsLost) {
  EXPECT_TRUE(Answer());
  wait->OnAnswered(false);
  Expect(0, 0, 1);
}

// Nobody tells of it any more: whoever forwarded it sends it to the new owner.
TEST_F(ForwardedWaitTest, AnswerThatTheOwnerIsAnotherEndsIt) {
  ForwardedAnswer answer;
  answer.set_not_the_owner(true);
  EXPECT_TRUE(wait->Answer(grpc::Status(), answer));
  Expect(0, 0, 1);
  wait->OnAnswered(true);
  wait->StreamEnded();
  Expect(0, 0, 1);
}

// Whoever answers is told by `false`, and by nothing else.
TEST_F(ForwardedWaitTest, AnswerToAStreamThatHasEndedIsRefused) {
  message->open = false;
  EXPECT_FALSE(Answer());
  EXPECT_EQ(heard->gone + heard->delivered + heard->lost, 0);
  EXPECT_EQ(forgotten, 1);
}

}  // namespace
}  // namespace headgate::peers
