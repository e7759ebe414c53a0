// How many callers may read the throttle log at once, against a store that keeps them waiting.
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/serve/rpc/throttle_log_service.h"
#include "tests/serve/rpc/waiting_store.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

TEST(ThrottleLogReads, AreRefusedBeyondFourAtOnce) {
  WaitingStore store;
  InProcessServer server(engine::OneBudget(engine::RateBudget("rows", 10, 100)),
                         {.log_store = &store});
  const auto sums = [&server] {
    return CallRpc(server.channel, &v1::ThrottleLogService::Stub::QueryThrottleLog);
  };
  const auto intervals = [&server] {
    return CallRpc(server.channel, &v1::ThrottleLogService::Stub::ListThrottledIntervals);
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
