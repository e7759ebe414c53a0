// Callers who do not read answers, or do not end requests: others are answered, and so many answers
// wait at most, while they do so.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

constexpr char kCheck[] = "/headgate.v1.ThrottlerService/Check";
constexpr char kBatchCheck[] = "/headgate.v1.ThrottlerService/BatchCheck";
constexpr char kReport[] = "/headgate.v1.ThrottlerService/Report";
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kGetStatus[] = "/headgate.v1.StatusService/GetStatus";

// The first Check takes all there is: further ones are denied, and need no permit.
engine::PolicySpec Scarce() { return engine::OneBudget(engine::RateBudget("b", 0.001, 1)); }

// A connection whose window is closed, with so many calls that will never be read.
class Deaf {
 public:
  Deaf(int port, const std::string& path, const std::string& message) : raw_(port) {
    std::string calls = Preface(0);
    for (uint32_t i = 0; i < kCallsOnConnection; ++i) calls += Call(1 + 2 * i, path, message);
    EXPECT_TRUE(raw_.SendAll(calls));
  }
  // All of its calls have been looked at.
  void AwaitHeads() const { raw_.AwaitHeads(kCallsOnConnection); }

 private:
  Raw raw_;
};

std::string Message(const std::string& identity) {
  return CheckOf(identity, 1).SerializeAsString();
}

class UnreadAnswers : public testing::Test {
 protected:
  UnreadAnswers() { server_.Allowed("job:etl", 1); }

  void LetBeDeaf(int connections, const std::string& path, const std::string& message) {
    for (int i = 0; i < connections; ++i) {
      deaf_.push_back(std::make_unique<Deaf>(server_.port(), path, message));
    }
  }
  void ExpectChecksAnswered(int checks) {
    for (int i = 0; i < checks; ++i) server_.Denied("job:etl", 1);
  }

  InProcessServer server_{Scarce()};
  std::vector<std::unique_ptr<Deaf>> deaf_;
};

TEST_F(UnreadAnswers, OfChecksKeepNobodyFromTheirs) {
  for (int i = 0; i < 8; ++i) {
    LetBeDeaf(1, kCheck, Message("job:deaf"));
    ExpectChecksAnswered(50);
  }
}

TEST_F(UnreadAnswers, OfBatchesAndReportsKeepNobodyFromTheirs) {
  LetBeDeaf(2, kBatchCheck, "");
  LetBeDeaf(2, kReport, "");
  for (int i = 0; i < 100; ++i) {
    server_.Batch({});
    server_.Report({});
  }
}

TEST_F(UnreadAnswers, OfProbesKeepNobodyFromTheirs) {
  LetBeDeaf(3, kHealthCheck, "");
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(CallRpc(server_.channel, &grpc::health::v1::Health::Stub::Check).ok());
  }
}

// They would keep all of gRPC's threads.
TEST_F(UnreadAnswers, OfRareCallsKeepNobodyFromTheirs) {
  const auto get_status = [this] {
    return CallRpc(server_.channel, &v1::StatusService::Stub::GetStatus);
  };
  LetBeDeaf(3, kGetStatus, "");
  // While so many arrive at once there may be no thread; those that are cancelled take a moment.
  for (const auto& deaf : deaf_) deaf->AwaitHeads();
  EXPECT_TRUE(WaitUntil([&] { return get_status().ok(); }));
  for (int i = 0; i < 20; ++i) {
    const grpc::Status status = get_status();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(UnreadAnswers, AreCancelledBeyondWhatThereMayBe) {
  LetBeDeaf(40, kCheck, Message("job:deaf"));
  // An answer that waits behind thousands at once may be taken for an unread one.
  for (const auto& deaf : deaf_) deaf->AwaitHeads();
  ExpectChecksAnswered(3000);
}

}  // namespace
}  // namespace headgate::tls
