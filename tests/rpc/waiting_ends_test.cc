// Waiting that does not end with an answer to its caller: nothing is owed, and nothing is left.

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <list>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/rpc/waiting_fixture.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using grpc::StatusCode;

// A budget in which nothing but Reports makes room: its debt tells what was charged in all.
engine::BudgetSpec SlotsWithDebt(int64_t slots) {
  engine::BudgetSpec budget = RateBudget("b", 0.001, 1e6);
  budget.max_concurrency = slots;
  return budget;
}

class WaitingEnds : public ::testing::Test {
 protected:
  explicit WaitingEnds(int64_t slots = 1) : server_(OneBudget(SlotsWithDebt(slots))) {
    for (int64_t i = 0; i < slots; ++i) {
      holding_.push_back(server_.Allowed("job:etl", 10).permit_id());
    }
  }
  void ReportAllHeld() {
    for (const uint64_t permit : std::exchange(holding_, {})) server_.Report(permit, 0);
  }
  void NothingIsLeft(double most_debt = 1e-6) {
    EXPECT_TRUE(Waiting(server_, 0));
    EXPECT_TRUE(WaitUntil([&] { return server_.permits() == 0; })) << server_.permits();
    // A permit is gone a moment before what it owed is.
    EXPECT_TRUE(WaitUntil([&] { return server_.Debt("job:etl") < most_debt; }, absl::Seconds(5)))
        << server_.Debt("job:etl");
    EXPECT_TRUE(server_.Allowed("job:etl", 10).has_permit_id());
  }

  std::vector<uint64_t> holding_;
  InProcessServer server_;
};

TEST_F(WaitingEnds, WithACallerThatCancels) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server_, 1));
  caller.context.TryCancel();
  EXPECT_EQ(caller.Status().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Waiting(server_, 0));
  EXPECT_EQ(server_.line_stats().left(), 1);
  ReportAllHeld();
  NothingIsLeft();
}

TEST_F(WaitingEnds, ForAllOfABatchWithACallerThatCancels) {
  server_.Report(holding_.back(), 0);
  holding_.clear();
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckOf("job:etl", 10);
  batch.mutable_checks(0)->set_request_id("first");
  *batch.add_checks() = WaitingCheck("job:etl", 10);
  WaitingBatchCaller caller(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 1));
  EXPECT_EQ(server_.permits(), 1);
  caller.context.TryCancel();
  EXPECT_EQ(caller.Status().error_code(), StatusCode::CANCELLED);
  NothingIsLeft();
}

TEST_F(WaitingEnds, ForAMessageOfAStreamThatIsCancelled) {
  server_.Report(holding_.back(), 0);
  holding_.clear();
  OpenStream open(server_.channel);
  v1::CheckStreamRequest message;
  *message.add_checks() = CheckOf("job:etl", 10);
  *message.add_checks() = WaitingCheck("job:etl", 10);
  ASSERT_TRUE(open.stream->Write(message));
  ASSERT_TRUE(Waiting(server_, 1));
  open.context.TryCancel();
  EXPECT_EQ(open.stream->Finish().error_code(), StatusCode::CANCELLED);
  NothingIsLeft();
}

TEST_F(WaitingEnds, AnotherOnesRepeatedAnswerIsNotTakenBack) {
  v1::CheckRequest request = WaitingCheck("job:etl", 10);
  request.set_request_id("once");
  WaitingCaller stays(server_.channel, request);
  ASSERT_TRUE(Waiting(server_, 1));
  // Repeats what the other is answered, and is not answered itself, since a part of it waits on.
  v1::BatchCheckRequest batch;
  *batch.add_checks() = request;
  *batch.add_checks() = WaitingCheck("job:etl", 10);
  WaitingBatchCaller leaves(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 3));
  ReportAllHeld();
  const uint64_t permit = stays.Decision().permit_id();
  ASSERT_TRUE(Waiting(server_, 1));
  leaves.context.TryCancel();
  EXPECT_FALSE(leaves.Status().ok());
  ASSERT_TRUE(Waiting(server_, 0));
  EXPECT_EQ(server_.permits(), 1);
  EXPECT_EQ(server_.Report(permit, 0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  NothingIsLeft();
}

// Ends every connection that this process has to the port, as a network does: without a word.
void CutConnections(int port) {
  for (int fd = 3; fd < 4096; ++fd) {
    sockaddr_in6 peer = {};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    // The port is at the same place for both families.
    if (ntohs(peer.sin6_port) == port) shutdown(fd, SHUT_RDWR);
  }
}

// 1,000 callers of all kinds, asynchronously.
class ManyCallers {
 public:
  struct Call {
    Context context;
    v1::CheckResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader;
  };

  ManyCallers(InProcessServer& server, int count) : server_(server) {
    for (int i = 0; i < 10; ++i) {
      stubs_.push_back(v1::ThrottlerService::NewStub(server.Connect()));
    }
    for (int i = 0; i < count; ++i) {
      Call& call = calls_.emplace_back();
      if (i % 3 == 1) {
        call.context.set_deadline(gpr_time_from_millis(1000 + i, GPR_TIMESPAN));
      }
      call.reader = stubs_[static_cast<size_t>(i % 10)]->AsyncCheck(
          &call.context, WaitingCheck("job:etl", 10), &queue_);
      call.reader->Finish(&call.response, &call.status, &call);
    }
  }
  // Each third one cancels.
  void CancelSome() {
    int place = 0;
    for (Call& call : calls_) {
      if (place++ % 3 == 0) call.context.TryCancel();
    }
  }
  // Reports what was admitted as done for nothing, until all have ended; how many were admitted.
  int WorkOffAll() {
    int admitted = 0;
    for (size_t i = 0; i < calls_.size(); ++i) {
      void* tag = nullptr;
      bool ok = false;
      queue_.Next(&tag, &ok);
      const Call& call = *static_cast<Call*>(tag);
      if (!call.status.ok() || !call.response.decision().has_permit_id()) continue;
      ++admitted;
      server_.Report(call.response.decision().permit_id(), 0);
    }
    return admitted;
  }

 private:
  InProcessServer& server_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::ThrottlerService::Stub>> stubs_;
  std::list<Call> calls_;
};

struct ManyWaitingEnds : WaitingEnds {
  ManyWaitingEnds() : WaitingEnds(100) {}
};

TEST_F(ManyWaitingEnds, WithCallersThatCancelAndRunOutOfTimeInTheInstantOfAdmission) {
  ManyCallers callers(server_, 1000);
  ASSERT_TRUE(Waiting(server_, 1000));
  std::thread reporting([&] { ReportAllHeld(); });
  callers.CancelSome();
  const int admitted = callers.WorkOffAll();
  reporting.join();
  EXPECT_GT(admitted, 0);
  EXPECT_TRUE(Waiting(server_, 0));
  // What was on its way when its caller's time ran out was delivered, as far as a server can know:
  // it ends with its permit.
  EXPECT_LE(server_.permits(), 100);
}

TEST_F(ManyWaitingEnds, WithConnectionsThatAreLostInTheInstantOfAdmission) {
  ManyCallers callers(server_, 1000);
  ASSERT_TRUE(Waiting(server_, 1000));
  // The engine's own, so that this needs no connection.
  std::thread reporting([&] {
    for (const uint64_t permit : holding_) {
      EXPECT_TRUE(server_.engine.Report(permit, {.cost = 0}, server_.clock.Read()).ok());
    }
  });
  CutConnections(server_.port());
  reporting.join();
  callers.WorkOffAll();
  EXPECT_TRUE(Waiting(server_, 0));
  // What was on its way when its connection broke was delivered, as far as a server can know: it
  // ends with its permit.
  EXPECT_LE(server_.permits(), 100);
}

TEST_F(WaitingEnds, WithAServerThatStopsWhichSaysSoAtOnce) {
  server_.Report(holding_.back(), 0);
  holding_.clear();
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckOf("job:etl", 10);
  *batch.add_checks() = WaitingCheck("job:etl", 10);
  WaitingBatchCaller several(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 1));
  WaitingCaller one(server_.channel, WaitingCheck("job:etl", 10));
  OpenStream open(server_.channel);
  v1::CheckStreamRequest message;
  *message.add_checks() = WaitingCheck("job:etl", 10);
  ASSERT_TRUE(open.stream->Write(message));
  ASSERT_TRUE(Waiting(server_, 3));
  server_->Shutdown(absl::Seconds(20));
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  for (const grpc::Status& status : {several.Status(), one.Status(), open.stream->Finish()}) {
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_TRUE(DetailsOf(status).retry);
  }
  EXPECT_EQ(server_.line_stats().waiting, 0);
  EXPECT_EQ(server_.permits(), 0);
  EXPECT_NEAR(server_.Debt("job:etl"), 0, 1e-6);
}

access::PolicySpec AnybodyMay(const std::string& identity) {
  return {.callers = {{.name = "guest", .anybody = true, .identities = {identity}}}};
}
access::PolicySpec OnlyTokens() {
  return {.callers = {{.name = "auditor", .token = "auditor", .identities = {"etl"}}}};
}

TEST_F(WaitingEnds, AtOnceWhenTheRightIsTakenAway) {
  server_.access.SetPolicy(AnybodyMay("etl"));
  WaitingCaller one(server_.channel, WaitingCheck("job:etl", 10));
  v1::BatchCheckRequest batch;
  *batch.add_checks() = WaitingCheck("job:etl", 10);
  WaitingBatchCaller several(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 2));
  server_.access.SetPolicy(AnybodyMay("web"));
  EXPECT_EQ(one.Status().error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(DetailsOf(one.Status()).metadata.at("caller"), "guest");
  EXPECT_EQ(several.Answer().results(0).error().code(), 7);
  server_.access.SetPolicy(std::nullopt);
  ReportAllHeld();
  NothingIsLeft();
}

TEST_F(WaitingEnds, AtOnceWhenTheCallerIsNobodyAnyMore) {
  server_.access.SetPolicy(AnybodyMay("etl"));
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.access.SetPolicy(OnlyTokens());
  EXPECT_EQ(caller.Status().error_code(), StatusCode::UNAUTHENTICATED);
  server_.access.SetPolicy(std::nullopt);
  ReportAllHeld();
  NothingIsLeft();
}

TEST_F(WaitingEnds, AtOnceWhenAccessControlIsTurnedOn) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.access.SetPolicy(AnybodyMay("web"));
  EXPECT_EQ(caller.Status().error_code(), StatusCode::PERMISSION_DENIED);
  server_.access.SetPolicy(std::nullopt);
  ReportAllHeld();
  NothingIsLeft();
}

TEST_F(WaitingEnds, WithAPermitThatIsSealedForItsCaller) {
  server_.access.SetPolicy(AnybodyMay("etl"));
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server_, 1));
  // The permit of before is not one of this caller's.
  EXPECT_TRUE(server_.engine.Report(holding_.back(), {.cost = 0}, server_.clock.Read()).ok());
  const uint64_t permit = caller.Decision().permit_id();
  EXPECT_EQ(server_.Report(permit, 0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  NothingIsLeft();
}

}  // namespace
}  // namespace headgate::rpc
