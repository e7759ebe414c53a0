// headgated is killed at random moments, again and again: every override that was acknowledged is
// there afterwards, none that was ended comes back, and the throttle log is short by no more than
// what was counted in the last second.

#include <grpcpp/grpcpp.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr int kChecksInBatch = 100;
// What is counted in one second is stored in the next moment. Time for which the server had no
// processor comes on top of it.
constexpr absl::Duration kMayBeLost = absl::Milliseconds(1700);

// One life of headgated.
class Life {
 public:
  explicit Life(const std::filesystem::path& folder) : server_({.folder = folder}) {}

  void Signal(int signal) const { server_.Signal(signal); }
  absl::Duration Waited() const { return WaitedForProcessor(server_.pid()); }
  void AwaitEnd() { EXPECT_TRUE(server_.HasEnded(absl::Minutes(2))); }

  // Allowed and denied. Nothing: the server is gone.
  std::optional<int64_t> Ask(const std::string& identity) const {
    v1::BatchCheckRequest request;
    for (int i = 0; i < kChecksInBatch; ++i) request.add_checks()->set_identity(identity);
    v1::BatchCheckResponse response;
    if (!Call(&v1::ThrottlerService::Stub::BatchCheck, request, response).ok()) return std::nullopt;
    return response.results_size();
  }

  // Its id; nothing: it was not acknowledged.
  std::optional<int64_t> Pause(const std::string& identity) const {
    v1::CreateOverrideResponse response;
    const bool made =
        Call(&v1::OverrideService::Stub::CreateOverride, PauseForGood(identity), response).ok();
    return made ? std::optional(response.override().id()) : std::nullopt;
  }
  bool End(int64_t id) const {
    return CallRpc(server_.channel(), &v1::OverrideService::Stub::DeleteOverride, Ending(id)).ok();
  }
  std::set<int64_t> InForce() const {
    std::set<int64_t> ids;
    v1::ListOverridesRequest request;
    request.set_page_size(1000);
    do {
      const v1::ListOverridesResponse response =
          AnswerOf(server_.channel(), &v1::OverrideService::Stub::ListOverrides, request);
      for (const v1::Override& one : response.overrides()) ids.insert(one.id());
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return ids;
  }

  int64_t Logged(const std::string& identity) const {
    v1::QueryThrottleLogRequest request;
    request.mutable_filter()->set_identity(identity);
    const v1::QueryThrottleLogResponse response =
        AnswerOf(server_.channel(), &v1::ThrottleLogService::Stub::QueryThrottleLog, request);
    int64_t checks = 0;
    for (const v1::LogSum& sum : response.sums()) checks += sum.allowed() + sum.denied();
    return checks;
  }

 private:
  template <typename Method, typename Request, typename Response>
  grpc::Status Call(Method method, const Request& request, Response& response) const {
    return CallRpc(server_.channel(), method, request, response);
  }

  RunningHeadgated server_;
};

// What was acknowledged. An id whose end was asked for, and not acknowledged, may be either.
struct Acknowledged {
  std::set<int64_t> made;
  std::set<int64_t> ended;
  std::set<int64_t> in_doubt;
};

struct Answers {
  int64_t at_ns;
  int64_t checks;
};

void MakeAndEnd(const Life& life, const std::string& identity, Acknowledged& acknowledged) {
  for (int i = 0;; ++i) {
    const std::optional<int64_t> id = life.Pause(absl::StrCat("other-", i, ":", identity));
    if (!id.has_value()) return;
    acknowledged.made.insert(*id);
    if (i % 3 == 0) continue;  // stays
    acknowledged.in_doubt.insert(*id);
    if (!life.End(*id)) return;
    acknowledged.in_doubt.erase(*id);
    acknowledged.ended.insert(*id);
  }
}

TEST(Crash, LosesNoOverrideAndTheLastSecondOfTheLogAtMost) {
  TempFolder folder;
  std::mt19937 random(20260101);
  std::uniform_int_distribution<int> milliseconds(50, 2200);
  Acknowledged acknowledged;
  auto life = std::make_unique<Life>(folder.path());
  const int rounds = Scaled(49);
  for (int round = 0; round < rounds; ++round) {
    const std::string identity = absl::StrCat("job-", round, ":crash");
    std::vector<Answers> answers;
    int64_t asked = 0;
    std::thread asking([&] {
      while (true) {
        asked += kChecksInBatch;
        const std::optional<int64_t> checks = life->Ask(identity);
        if (!checks.has_value()) return;
        answers.push_back({MonotonicNs(), *checks});
      }
    });
    std::thread operating([&] { MakeAndEnd(*life, identity, acknowledged); });
    const int64_t kill_at_ns = MonotonicNs() + int64_t{milliseconds(random)} * 1'000'000;
    (void)WaitUntil([&] { return MonotonicNs() >= kill_at_ns; });
    const absl::Duration may_be_lost = kMayBeLost + life->Waited();
    life->Signal(SIGKILL);
    const int64_t killed_at_ns = MonotonicNs();
    asking.join();
    operating.join();
    life->AwaitEnd();
    life = std::make_unique<Life>(folder.path());

    int64_t answered_in_time = 0;
    for (const Answers& one : answers) {
      const bool in_time = one.at_ns < killed_at_ns - absl::ToInt64Nanoseconds(may_be_lost);
      answered_in_time += in_time ? one.checks : 0;
    }
    const int64_t logged = life->Logged(identity);
    EXPECT_GE(logged, answered_in_time) << "round " << round;
    EXPECT_LE(logged, asked) << "round " << round;
    const std::set<int64_t> in_force = life->InForce();
    for (const int64_t id : acknowledged.made) {
      if (acknowledged.in_doubt.contains(id)) continue;
      EXPECT_EQ(in_force.contains(id), !acknowledged.ended.contains(id)) << id << " in " << round;
    }
  }
}

}  // namespace
}  // namespace headgate
