// How many callers may read the throttle log at once, against a store that keeps them waiting.
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/rpc/throttle_log_service.h"
#include "tests/rpc/rpc_fixture.h"
#include "tests/rpc/waiting_store.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

TEST(ThrottleLogReads, AreRefusedBeyondFourAtOnce) {
  WaitingStore store;
  FakeClock clock;
  engine::Engine engine(TestServer::EngineOptions());
  QuietDependencies quiet(engine, clock);
  ThrottleLogService service(
      {.store = store, .recorder = quiet.recorder, .clock = clock, .access = quiet.access});
  RpcServerOptions options = TestServer::Options();
  options.more_services = {&service};
  TestServer server(engine::OneBudget(engine::RateBudget("rows", 10, 100)), options);
  const auto stub = v1::ThrottleLogService::NewStub(server.channel);
  const auto sums = [&stub] {
    Context context;
    v1::QueryThrottleLogResponse response;
    return stub->QueryThrottleLog(&context, {}, &response);
  };
  const auto intervals = [&stub] {
    Context context;
    v1::ListThrottledIntervalsResponse response;
    return stub->ListThrottledIntervals(&context, {}, &response);
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < ReadCount::kMax; ++i) {
    callers.emplace_back([&, i] {
      const grpc::Status status = i % 2 == 0 ? sums() : intervals();
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return store.scans() == ReadCount::kMax; }));
  for (const grpc::Status& refused : {sums(), intervals()}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(DetailsOf(refused).reason, "TOO_MANY_LOG_READS");
    EXPECT_TRUE(DetailsOf(refused).retry);
  }
  store.GoOn();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(sums().ok());
}

}  // namespace
}  // namespace headgate::rpc
