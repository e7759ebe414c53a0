// A caller that opens calls and resets them at once, so that it never has too many: gRPC makes each
// of them before it forgets it. Neither memory nor the others' Checks may go by it.

#include <string>

#include "gtest/gtest.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/check_once.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"

namespace headgate::tls {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostMiB = 3072;
#else
constexpr double kMostMiB = 600;
#endif

TEST(ResetCalls, TakeBoundedMemoryAndLeaveOthersTheirAnswers) {
  RunningHeadgated server{{.stateless = true}};
  constexpr int kCalls = 80'000;  // 11 KiB each, if they are kept
  constexpr int kAtOnce = 200;
  const std::string cancel = Number(8, 4);
  uint32_t stream = 1;
  Raw caller(server.port());
  ASSERT_TRUE(caller.SendAll(kPreface));
  const std::string headers = Headers(1, "/headgate.v1.ThrottlerService/Check").substr(9);
  for (int sent = 0; sent < kCalls; sent += kAtOnce) {
    std::string frames;
    for (int i = 0; i < kAtOnce; ++i, stream += 2) {
      frames += Frame(1, 4, stream, headers) + Frame(3, 0, stream, cancel);
    }
    // It may have been cut.
    if (!caller.SendAll(frames)) break;
  }
  EXPECT_TRUE(CheckOnce(server.address(), 20).ok());
  const auto usage = UsageOf(server.pid());
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_LT(usage->peak_mib, kMostMiB);
}

}  // namespace
}  // namespace headgate::tls
