// How an order reaches those who hold leases: a Check that waits for another state.

#include <headgate/v1/override_service.grpc.pb.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/line/lease_watches.h"
#include "server/serve/rpc/waiting_call.h"
#include "tests/serve/rpc/raw_callers.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/error_details.h"
#include "tests/testing/override_requests.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using grpc::StatusCode;
using ::testing::HasSubstr;

v1::CheckRequest WatchOf(const std::string& identity, uint64_t state,
                         absl::Duration max_wait = absl::Minutes(10)) {
  v1::CheckRequest request;
  request.set_identity(identity);
  request.set_validate_only(true);
  request.mutable_lease()->mutable_watch()->set_state(state);
  request.mutable_max_wait()->set_seconds(absl::ToInt64Seconds(max_wait));
  return request;
}

bool Watching(InProcessServer& server, size_t count) {
  return WaitUntil([&] { return server.line_stats().watches == count; });
}

engine::PolicySpec Usual(double rate = 10) {
  engine::BudgetSpec budget = RateBudget("b", rate, 100);
  budget.health = "primary";
  engine::PolicySpec spec = OneBudget(std::move(budget));
  spec.profiles.push_back({.name = "primary", .signals = {"lag"}});
  return spec;
}

class LeaseWatchTest : public ::testing::Test {
 protected:
  LeaseWatchTest() : server_(Usual(), {.overrides = InProcessOptions::kKept, .http = true}) {}

  uint64_t StateOf(const std::string& identity = "job:etl") {
    return server_.Check(WatchOf(identity, 0)).lease().state();
  }
  // One who waits, and is there.
  std::unique_ptr<WaitingCaller> Watch(const std::string& identity = "job:etl") {
    const size_t before = server_.line_stats().watches;
    auto caller =
        std::make_unique<WaitingCaller>(server_.channel, WatchOf(identity, StateOf(identity)));
    EXPECT_TRUE(Watching(server_, before + 1));
    return caller;
  }
  v1::Override Create(const v1::CreateOverrideRequest& request) {
    v1::CreateOverrideResponse response;
    Context context;
    const grpc::Status status =
        v1::OverrideService::NewStub(server_.channel)->CreateOverride(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.override();
  }
  // A watch that was there before is answered with another state by what this does.
  template <typename Change>
  void IsTold(Change change) {
    const uint64_t before = StateOf();
    const auto caller = Watch();
    change();
    EXPECT_NE(caller->Decision().lease().state(), before);
    EXPECT_EQ(caller->Decision().lease().state(), StateOf());
    EXPECT_TRUE(Watching(server_, 0));
  }
  // It is not, and stays.
  template <typename Change>
  void IsNotTold(Change change) {
    const uint64_t before = StateOf();
    const auto caller = Watch();
    change();
    EXPECT_EQ(StateOf(), before);
    // By when this one is told, all have been looked at, or are being.
    const auto other = Watch("other:etl");
    Create(Pause("other:etl"));
    other->Answer();
    EXPECT_EQ(server_.line_stats().watches, 1);
    caller->context.TryCancel();
    EXPECT_EQ(caller->Status().error_code(), StatusCode::CANCELLED);
    EXPECT_TRUE(Watching(server_, 0));
  }

  InProcessServer server_;
};

TEST_F(LeaseWatchTest, IsAnsweredAtOnceWhereNothingOrAnotherStateIsKnown) {
  const v1::Decision first = server_.Check(WatchOf("job:etl", 0));
  EXPECT_NE(first.lease().state(), 0);
  const uint64_t state = first.lease().state();
  EXPECT_EQ(server_.Check(WatchOf("job:etl", state + 1)).lease().state(), state);
  EXPECT_EQ(server_.Check(WatchOf("job:etl", state, absl::ZeroDuration())).lease().state(), state);
}

TEST_F(LeaseWatchTest, IsAnsweredWithNothingButAState) {
  server_.Allowed("job:etl", 100);
  v1::Decision decision = server_.Check(WatchOf("job:etl", 0));
  decision.mutable_lease()->clear_state();
  v1::Decision nothing;
  nothing.mutable_lease();
  EXPECT_EQ(decision.SerializeAsString(), nothing.SerializeAsString());
}

TEST_F(LeaseWatchTest, KnowsTheStateInWhichALeaseWasGranted) {
  v1::CheckRequest request = CheckOf("job:etl", 50);
  request.mutable_lease()->set_least(1);
  EXPECT_EQ(server_.Check(request).lease().state(), StateOf());
}

TEST_F(LeaseWatchTest, ChargesNothingAndIsCountedNowhere) {
  const auto caller = Watch();
  EXPECT_EQ(server_.Debt("job:etl"), 0);
  EXPECT_EQ(server_.permits(), 0);
  Create(Pause("job:etl"));
  caller->Answer();
  int rows = 0;
  server_.recorder.Collect({}, [&](const auto&, const auto&) { ++rows; });
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(server_.line_stats().entered, 0);
}

TEST_F(LeaseWatchTest, IsToldOfAPauseAndOfItsEnd) {
  const uint64_t usual = StateOf();
  auto caller = Watch();
  const v1::Override pause = Create(Pause("job:etl"));
  const uint64_t paused = caller->Decision().lease().state();
  EXPECT_NE(paused, usual);
  EXPECT_EQ(paused, StateOf());
  caller = Watch();
  v1::DeleteOverrideResponse deleted;
  Context context;
  ASSERT_TRUE(v1::OverrideService::NewStub(server_.channel)
                  ->DeleteOverride(&context, Ending(pause.id()), &deleted)
                  .ok());
  EXPECT_EQ(caller->Decision().lease().state(), usual);
}

TEST_F(LeaseWatchTest, IsToldWhenAPauseEndsByItself) {
  const uint64_t usual = StateOf();
  Create(Pause("job:etl"));
  const auto caller = Watch();
  server_.Advance(absl::Hours(1));
  EXPECT_EQ(caller->Decision().lease().state(), usual);
}

TEST_F(LeaseWatchTest, IsToldOfAThrottleAndOfAnExemption) {
  IsTold([this] {
    v1::CreateOverrideRequest throttle = Pause("job:etl");
    throttle.set_kind(v1::OVERRIDE_KIND_THROTTLE);
    throttle.set_ratio(0.5);
    Create(throttle);
  });
  IsTold([this] {
    v1::CreateOverrideRequest exempt = Pause("job:etl");
    exempt.set_kind(v1::OVERRIDE_KIND_EXEMPT);
    Create(exempt);
  });
}

TEST_F(LeaseWatchTest, IsToldOfAReloadThatChangesItsRateAndNotOfOneThatChangesNothing) {
  const auto reload = [this](double rate) {
    return [this, rate] { ASSERT_TRUE(server_.registry->Install(Usual(rate)).ok()); };
  };
  IsTold(reload(11));
  IsNotTold(reload(11));
}

TEST_F(LeaseWatchTest, IsNotToldOfWhatIsAboutOthers) {
  IsNotTold([this] { Create(Pause("third:etl")); });
  IsNotTold([this] { server_.Allowed("job:etl", 100); });
}

TEST_F(LeaseWatchTest, IsToldOfAGateThatShutsAndOpens) {
  const auto set = [this](bool shut, double speed) {
    return [this, shut, speed] {
      const engine::Health health{
          .speed = speed, .status = engine::HealthStatus::kHealthy, .gate_shut = shut};
      ASSERT_TRUE(server_.engine.SetHealth("", "primary", health, server_.clock.Read()).ok());
    };
  };
  IsNotTold(set(false, 0.5));
  IsTold(set(true, 0));
  IsTold(set(false, 1));
}

TEST_F(LeaseWatchTest, IsAnsweredWithTheSameStateAtTheEndOfItsTime) {
  const uint64_t state = StateOf();
  WaitingCaller caller(server_.channel, WatchOf("job:etl", state, absl::Seconds(30)));
  ASSERT_TRUE(Watching(server_, 1));
  server_.Advance(absl::Seconds(30));
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.lease().state(), state);
  EXPECT_EQ(decision.waited().seconds(), 30);
}

TEST_F(LeaseWatchTest, EndsWithItsCaller) {
  const auto caller = Watch();
  caller->context.TryCancel();
  EXPECT_EQ(caller->Status().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Watching(server_, 0));
}

TEST_F(LeaseWatchTest, EndsWithTheServer) {
  const auto caller = Watch();
  server_->Shutdown(absl::Seconds(20));
  EXPECT_EQ(caller->Status().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(DetailsOf(caller->Status()).retry);
  EXPECT_EQ(server_.line_stats().watches, 0);
}

TEST_F(LeaseWatchTest, EndsWithTheRightToAsk) {
  const auto may = [](const std::string& identity) {
    return access::PolicySpec{
        .callers = {{.name = "guest", .anybody = true, .identities = {identity}}}};
  };
  server_.access.SetPolicy(may("etl"));
  WaitingCaller caller(server_.channel, WatchOf("job:etl", StateOf()));
  ASSERT_TRUE(Watching(server_, 1));
  v1::Decision decision;
  EXPECT_EQ(server_.TryCheck(WatchOf("job:web", 0), decision).error_code(),
            StatusCode::PERMISSION_DENIED);
  server_.access.SetPolicy(may("web"));
  EXPECT_EQ(caller.Status().error_code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(LeaseWatchTest, ThatIsWrongIsAnErrorThatNamesTheField) {
  const auto field = [this](const v1::CheckRequest& request) {
    v1::Decision decision;
    const grpc::Status status = server_.TryCheck(request, decision);
    const auto details = ReadDetails(status);
    return details.has_value() && !details->fields.empty() ? details->fields[0] : "";
  };
  EXPECT_EQ(field(WatchOf("a::b", 0)), "identity");
  v1::CheckRequest request = WatchOf("job:etl", 0);
  request.mutable_max_wait()->set_seconds(-1);
  EXPECT_EQ(field(request), "max_wait");
  request = WatchOf("job:etl", 0);
  (*request.mutable_tags())[""] = "x";
  EXPECT_EQ(field(request), "tags");
  request = WatchOf("job:etl", 0);
  request.set_target("nowhere");
  v1::Decision decision;
  EXPECT_EQ(server_.TryCheck(request, decision).error_code(), StatusCode::NOT_FOUND);
}

// Where a server does not know the field, the rest of the request has to be one that it refuses.
TEST_F(LeaseWatchTest, WithoutTheFieldIsRefusedAndNeitherDecidedNorCharged) {
  v1::CheckRequest request = WatchOf("job:etl", 0);
  request.mutable_lease()->clear_watch();
  v1::Decision decision;
  EXPECT_EQ(server_.TryCheck(request, decision).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(server_.Debt("job:etl"), 0);
}

TEST_F(LeaseWatchTest, LooksAtNoOtherTerms) {
  v1::CheckRequest lease = CheckOf("job:etl", 50);
  lease.mutable_lease()->set_least(1);
  const v1::Decision granted = server_.Check(lease);
  v1::CheckRequest request = WatchOf("job:etl", 0);
  request.mutable_lease()->set_least(-1);
  request.mutable_lease()->mutable_returned()->set_permit_id(granted.permit_id());
  EXPECT_FALSE(server_.Check(request).lease().has_returned());
  EXPECT_EQ(server_.permits(), 1);
}

TEST_F(LeaseWatchTest, SeveralInABatchAreAnsweredWhenAllAre) {
  v1::BatchCheckRequest batch;
  *batch.add_checks() = WatchOf("job:etl", StateOf());
  *batch.add_checks() = WatchOf("a::b", 0);
  *batch.add_checks() = WatchOf("other:etl", StateOf("other:etl"));
  WaitingBatchCaller caller(server_.channel, batch);
  ASSERT_TRUE(Watching(server_, 2));
  Create(Pause("job:etl"));
  Create(Pause("other:etl"));
  const v1::BatchCheckResponse& response = caller.Answer();
  EXPECT_EQ(response.results(0).decision().lease().state(), StateOf());
  EXPECT_EQ(response.results(1).error().field(), "checks[1].identity");
  EXPECT_EQ(response.results(2).decision().lease().state(), StateOf("other:etl"));
}

// Each in a message of its own: they are answered as they come.
TEST_F(LeaseWatchTest, ManyOnAStreamThatIsNotReadHoldUpNobody) {
  OpenStream open(server_.channel);
  for (int i = 0; i < 1000; ++i) {
    v1::CheckStreamRequest message;
    message.set_number(static_cast<uint64_t>(i) + 1);
    *message.add_checks() = WatchOf("job:etl", StateOf());
    ASSERT_TRUE(open.stream->Write(message));
  }
  ASSERT_TRUE(Watching(server_, 1000));
  const auto other = Watch("other:etl");
  Create(Pause("job:etl"));
  Create(Pause("other:etl"));
  EXPECT_EQ(other->Decision().lease().state(), StateOf("other:etl"));
  EXPECT_TRUE(Watching(server_, 0));
  v1::CheckStreamResponse response;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(open.stream->Read(&response));
  EXPECT_EQ(response.results(0).decision().lease().state(), StateOf());
}

TEST_F(LeaseWatchTest, OfWhichThereAreTooManyIsRefusedByName) {
  // Five messages with as many watches as one may have, and a few more.
  OpenStream open(server_.channel);
  const uint64_t state = StateOf();
  for (size_t left = line::LeaseWatches::kMost; left > 0;) {
    v1::CheckStreamRequest message;
    for (; left > 0 && message.checks_size() < 1000; --left) {
      *message.add_checks() = WatchOf("job:etl", state);
    }
    ASSERT_TRUE(open.stream->Write(message));
  }
  ASSERT_TRUE(Watching(server_, line::LeaseWatches::kMost));
  v1::Decision decision;
  const grpc::Status status = server_.TryCheck(WatchOf("job:etl", state), decision);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("lease.watch: 5120 are watched"));
  EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_WATCHES");
  EXPECT_TRUE(DetailsOf(status).retry);
  // Who is told is no watch any more.
  Create(Pause("job:etl"));
  EXPECT_TRUE(Watching(server_, 0));
}

}  // namespace
}  // namespace headgate::rpc
