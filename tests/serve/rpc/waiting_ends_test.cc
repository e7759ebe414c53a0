// Waiting that does not end with an answer to its caller: nothing is owed, and nothing is left.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/govern/access/evidence.h"
#include "server/serve/rpc/kept_evidence.h"
#include "tests/serve/rpc/raw_callers.h"
#include "tests/serve/rpc/waiting_fixture.h"

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
    EXPECT_TRUE(WaitUntil([&] { return server_.Debt("job:etl") < most_debt; }))
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

// A thousand callers, while a hundred permits are given back, so that others are admitted.
class ManyWaitingEnds : public WaitingEnds {
 protected:
  static constexpr size_t kCallers = 1000;
  static constexpr absl::Duration kShort = absl::Seconds(5);

  ManyWaitingEnds() : WaitingEnds(100) {
    std::vector<v1::CheckRequest> requests(kCallers, WaitingCheck("job:etl", 10));
    for (size_t i = 2; i < kCallers; i += 3) requests[i] = WaitingCheck("job:etl", 10, kShort);
    callers_.emplace(server_.port(), requests);
    EXPECT_TRUE(Waiting(server_, kCallers));
  }
  // By the engine itself, so that it needs no connection.
  std::thread ReportingAllHeld() {
    return std::thread([this] {
      for (const uint64_t permit : holding_) {
        EXPECT_TRUE(server_.engine.Report(permit, {.cost = 0}, server_.clock.Read()).ok());
      }
    });
  }
  // Every permit that is left belongs to an answer that went over the wire: with these reported,
  // none is left. An answer that crossed with its caller's leaving may have been taken back.
  void OnlyHeardPermitsAreLeft() {
    int admitted = 0;
    EXPECT_TRUE(WaitUntil([&] {
      for (const RawCallers::Answer& answer : callers_->Hear()) {
        if (!answer.decision.has_permit_id()) continue;
        ++admitted;
        const bool settled =
            server_.engine.Report(answer.decision.permit_id(), {.cost = 0}, server_.clock.Read())
                .ok();
        EXPECT_TRUE(settled || left_[answer.caller]) << answer.caller;
      }
      return server_.line_stats().waiting == 0 && server_.permits() == 0;
    })) << server_.line_stats().waiting
        << " wait, " << server_.permits() << " permits";
    EXPECT_GT(admitted, 0);
    // Refunds in the middle of many are not exact.
    NothingIsLeft(0.02 * 10 * static_cast<double>(server_.line_stats().admitted() + 100));
  }
  void Cancel(size_t caller) {
    left_[caller] = true;
    callers_->Cancel(caller);
  }

  std::optional<RawCallers> callers_;
  std::vector<bool> left_ = std::vector<bool>(kCallers);
};

TEST_F(ManyWaitingEnds, WithCallersThatCancelAndRunOutOfTimeInTheInstantOfAdmission) {
  std::thread reporting = ReportingAllHeld();
  for (size_t i = 0; i < kCallers / 2; i += 3) Cancel(i);
  server_.Advance(kShort);
  for (size_t i = 0; i < kCallers; i += 3) Cancel(i);
  reporting.join();
  OnlyHeardPermitsAreLeft();
}

TEST_F(ManyWaitingEnds, WithConnectionsThatAreLostInTheInstantOfAdmission) {
  std::thread reporting = ReportingAllHeld();
  left_.assign(kCallers, true);
  EXPECT_TRUE(WaitUntil([&] { return server_.line_stats().admitted() >= 20; }));
  callers_->HangUp();
  reporting.join();
  OnlyHeardPermitsAreLeft();
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

// What a call brought, while it is under way.
class Brought final : public access::Evidence {
 public:
  access::KnownConnection* Connection() const override { return &connection_; }
  bool IsTls() const override { return true; }
  std::vector<std::string> CertificateNames() const override { return {"DNS:dba.example", ""}; }
  absl::InlinedVector<std::string_view, 2> Authorization() const override {
    return {header_, "Basic x", ""};
  }
  std::string Peer() const override { return "ipv4:10.0.0.1:4711"; }

 private:
  mutable access::KnownConnection connection_;
  std::string header_ = "Bearer of a token that is long enough to be elsewhere";
};

TEST(EvidenceOfAWaitingCall, IsKeptWhenTheCallIsGone) {
  std::optional<Brought> call(std::in_place);
  const KeptEvidence kept(*call);
  call.reset();
  EXPECT_EQ(kept.Connection(), nullptr);
  EXPECT_TRUE(kept.IsTls());
  EXPECT_EQ(kept.CertificateNames(), (std::vector<std::string>{"DNS:dba.example", ""}));
  EXPECT_EQ(kept.Authorization(),
            (absl::InlinedVector<std::string_view, 2>{
                "Bearer of a token that is long enough to be elsewhere", "Basic x", ""}));
  EXPECT_EQ(kept.Peer(), "ipv4:10.0.0.1:4711");
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
