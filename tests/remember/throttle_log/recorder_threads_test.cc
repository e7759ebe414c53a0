// Counting threads and their collector at once: nothing is lost, and nothing counted twice.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "gtest/gtest.h"
#include "server/remember/throttle_log/recorder.h"
#include "tests/remember/throttle_log/recorder_fixture.h"

namespace headgate::throttle_log {
namespace {

using engine::At;
using engine::CheckAnswer;
using engine::PolicySpec;
using engine::Request;
using engine::RuleOn;
using engine::Verdict;

constexpr int kThreads = 3;

// Calls `work` with the number of each thread, and `meanwhile` over and over until all are done.
template <typename Work, typename Meanwhile>
void RunThreads(Work&& work, Meanwhile&& meanwhile) {
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      work(thread);
      running.fetch_sub(1);
    });
  }
  while (running.load() > 0) meanwhile();
  for (std::thread& thread : threads) thread.join();
}

TEST(RecorderThreads, CountEveryCheckOnceWhileSlotsChangeHands) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 16;
  options.quiet_rounds = 1;
  Recording log(NoLimits(), options);
  const int checks = Scaled(300'000);
  constexpr int kIdentities = 40;  // more than slots, so that they are taken from each other
  std::vector<ThreadCounts*> threads;
  for (int i = 0; i < kThreads; ++i) threads.push_back(&log.recorder.AddThread());
  Sums sums;
  RunThreads(
      [&](int thread) {
        for (int i = 0; i < checks; ++i) {
          const std::string identity = absl::StrCat("job-", (i / 50) % kIdentities, ":etl");
          CheckAnswer answer;
          answer.verdict = Verdict::kAllowed;
          answer.subject_key = HashBytes(identity, 5) | 1;
          answer.predicted_cost = 2;
          answer.policy = log.engine->policy();
          threads[static_cast<size_t>(thread)]->Record(Request(identity, 2), answer, At());
        }
      },
      [&] { AddTo(sums, log.recorder); });
  AddTo(sums, log.recorder);
  EXPECT_EQ(ChecksOf(sums), int64_t{kThreads} * checks);
  EXPECT_EQ(CostIn(sums), 2.0 * kThreads * checks);
  for (const auto& [key, counts] : sums) {
    EXPECT_EQ(counts.cost, 2.0 * static_cast<double>(counts.checks)) << key.identity;
  }
  int64_t folded = 0;
  for (const auto& [key, counts] : sums) folded += key.folded ? counts.checks : 0;
  EXPECT_EQ(folded, log.recorder.State().folded_checks);
}

TEST(RecorderThreads, AgreeWithTheAnswersThatCallersGot) {
  PolicySpec spec = engine::OneBudget(engine::RateBudget("b", 1000, 1e6));
  spec.rules.push_back(RuleOn("shed", "etl", engine::RejectAction{0.5}));
  Recording log(spec);
  const int checks = Scaled(20'000);
  std::vector<ThreadCounts*> threads;
  for (int i = 0; i < kThreads; ++i) threads.push_back(&log.recorder.AddThread());
  std::atomic<int64_t> denied{0};
  Sums sums;
  RunThreads(
      [&](int thread) {
        CheckAnswer answer;
        for (int i = 0; i < checks; ++i) {
          const std::string identity = absl::StrCat("job-", i % 7, ":etl");
          const engine::CheckRequest request = Request(identity, 1);
          const absl::Status status = log.engine->Check(request, At(), answer);
          ASSERT_TRUE(status.ok()) << status;
          if (answer.permit != 0) log.engine.Report(answer.permit, 1);
          if (answer.verdict == Verdict::kDenied) denied.fetch_add(1);
          threads[static_cast<size_t>(thread)]->Record(request, answer, At());
        }
      },
      [&] {
        AddTo(sums, log.recorder);
        log.engine.Install(spec);
        log.recorder.RecentDenials({}, 0, 10);
      });
  AddTo(sums, log.recorder);
  EXPECT_EQ(ChecksOf(sums), int64_t{kThreads} * checks);
  int64_t counted = 0;
  for (const auto& [key, counts] : sums) {
    counted += key.outcome == Outcome::kDenied ? counts.checks : 0;
  }
  EXPECT_EQ(counted, denied.load());
}

TEST(RecorderThreads, SeeEachDenialWholeOrNotAtAll) {
  PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec));
  const std::string identities[] = {std::string(60, 'a'), std::string(9, 'b'), "c"};
  std::vector<ThreadCounts*> threads;
  std::vector<CheckAnswer> answers;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(&log.recorder.AddThread());
    answers.push_back(log.engine.Check(identities[i], i + 1));
  }
  const int checks = Scaled(100'000);
  int64_t newest = 0;
  RunThreads(
      [&](int thread) {
        const auto place = static_cast<size_t>(thread);
        for (int i = 0; i < checks; ++i) {
          threads[place]->Record(Request(identities[place], 1), answers[place], At());
        }
      },
      [&] {
        for (const Denial& denial : log.recorder.RecentDenials({}, newest, 1000)) {
          const auto place = static_cast<size_t>(denial.predicted_cost) - 1;
          ASSERT_LT(place, size_t{kThreads});
          EXPECT_EQ(denial.identity, identities[place]);
          newest = std::max(newest, denial.number);
        }
      });
  EXPECT_EQ(log.recorder.RecentDenials({}, 0, 1)[0].number, int64_t{kThreads} * checks);
}

}  // namespace
}  // namespace headgate::throttle_log
