// What headgated is told, of a real PostgreSQL's sessions and of processes that are made up.

#include "client/agent/reporting.h"

#include "common/system_clock.h"
#include "tests/agent/agent_fixture.h"
#include "tests/agent/fake_processes.h"

namespace headgate::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kSecondNs = 1'000'000'000;

class ToldHeadgated final : public Headgated {
 public:
  void Tell(const AgentReport& report) override { reports.push_back(report); }
  void FallSilent() override { ++silences; }
  std::vector<std::string> TakeLines() override { return {}; }
  std::optional<BatchWork> batch_work() override { return std::nullopt; }

  std::vector<AgentReport> reports;
  int silences = 0;
};

class ReportingTest : public AgentTest {
 protected:
  void SetUp() override {
    auto database = Database::Open({.dsn = Dsn(), .clock = &clock_, .processes = &linux_});
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
  }

  void Apply(const std::vector<Assignment>& assignments) {
    for (const Assignment& one : assignments) {
      if (!processes_.Find(one.pid).has_value()) processes_.Start(one.pid, {});
    }
    yielder_.Apply(assignments, 1);
  }
  void Watch(bool changed) {
    EXPECT_TRUE(reporting_
                    .Watch(*database_, yielder_,
                           {.changed = changed,
                            .means = "SCHED_IDLE",
                            .counted = {.raises = 3},
                            .now_ns = now_ns_})
                    .ok());
  }
  const AgentReport& last() const { return headgated_.reports.back(); }

  SystemClock clock_;
  LinuxProcesses linux_;
  std::unique_ptr<Database> database_;
  FakeProcesses processes_;
  std::unique_ptr<Journal> journal_ = *Journal::Open(folder_.File("state"), absl::ZeroDuration());
  Yielder yielder_{processes_, *journal_, {.kind = Means::Kind::kIdleClass}};
  ToldHeadgated headgated_;
  Reporting reporting_{&headgated_};
  int64_t now_ns_ = 100 * kSecondNs;
};

TEST_F(ReportingTest, TellsTwiceASecondAndAtOnceWhereSomethingHasChanged) {
  Watch(false);
  now_ns_ += 449'000'000;
  Watch(false);
  EXPECT_THAT(headgated_.reports, SizeIs(1));
  Watch(true);
  EXPECT_THAT(headgated_.reports, SizeIs(2));
  now_ns_ += 450'000'000;
  Watch(false);
  EXPECT_THAT(headgated_.reports, SizeIs(3));
}

TEST_F(ReportingTest, NamesSessionsAndForWhomTheyWereRaised) {
  SqlSession job = Connect("batch", "backfill-7"), other = Connect("batch", "nightly");
  SqlSession web = Connect("web", "orders-api");
  Apply(
      {{.pid = job.backend_pid()},
       {.pid = other.backend_pid(), .rank = Rank::kRaisedForWaiter, .waiter = web.backend_pid()}});
  processes_.Run(job.backend_pid(), kSecondNs / 2);
  Watch(true);
  EXPECT_TRUE(last().yields);
  EXPECT_EQ(last().means, "SCHED_IDLE");
  EXPECT_EQ(last().yielding, 1U);
  EXPECT_EQ(last().raised, 1U);
  EXPECT_EQ(last().counted.raises, 3U);
  EXPECT_DOUBLE_EQ(last().processor_seconds, 0.5);
  EXPECT_THAT(last().yielding_sessions,
              ElementsAre(NamedSession{
                  .pid = job.backend_pid(), .role = "batch", .application_name = "backfill-7"}));
  ASSERT_THAT(last().raised_sessions, SizeIs(1));
  EXPECT_EQ(last().raised_sessions[0].session.application_name, "nightly");
  EXPECT_EQ(
      last().raised_sessions[0].waiter,
      (NamedSession{.pid = web.backend_pid(), .role = "web", .application_name = "orders-api"}));
  // Another name counts within two seconds.
  ASSERT_TRUE(job.Run("SET application_name = 'backfill-8'").ok());
  now_ns_ += 2 * kSecondNs;
  Watch(false);
  EXPECT_EQ(last().yielding_sessions[0].application_name, "backfill-8");
}

TEST_F(ReportingTest, NamesAreCutAndPrintable) {
  const std::string name = "a\x1b[31m" + std::string(50, '\\');
  SqlSession job = Connect("batch");
  ASSERT_TRUE(job.Run("SET application_name = 'b" + std::string(62, 'x') + "'").ok());
  Apply({{.pid = job.backend_pid()}});
  Watch(true);
  EXPECT_EQ(last().yielding_sessions[0].application_name.size(), 63U);
  reporting_.TellTrouble(name + std::string(2000, 'x'), {.raises = 4});
  EXPECT_FALSE(last().yields);
  EXPECT_EQ(last().means.size(), 1024U);
  EXPECT_EQ(last().means.substr(0, 9), "a\\x1b[31m");
}

TEST_F(ReportingTest, WhatWasCountedBeforeAnotherConnectionIsKept) {
  SqlSession job = Connect("batch");
  Apply({{.pid = job.backend_pid()}});
  processes_.Run(job.backend_pid(), 2 * kSecondNs);
  Watch(true);
  EXPECT_DOUBLE_EQ(last().processor_seconds, 2);
  yielder_.RestoreAll();
  reporting_.TellTrouble("PostgreSQL can't be watched", {.raises = 5});
  EXPECT_DOUBLE_EQ(last().processor_seconds, 2);
  EXPECT_EQ(last().counted.raises, 5U);
  Yielder next(processes_, *journal_, {.kind = Means::Kind::kIdleClass});
  EXPECT_TRUE(reporting_.Watch(*database_, next, {.changed = true, .now_ns = now_ns_}).ok());
  next.Apply(std::vector<Assignment>{{.pid = job.backend_pid()}}, 1);
  processes_.Run(job.backend_pid(), kSecondNs);
  EXPECT_TRUE(reporting_.Watch(*database_, next, {.changed = true, .now_ns = now_ns_}).ok());
  EXPECT_DOUBLE_EQ(last().processor_seconds, 3);
}

// Its primary's agent tells of the target, whatever becomes of the standby.
TEST_F(ReportingTest, OfAStandbyNothingIsTold) {
  EXPECT_FALSE(reporting_.SetStandby(false));
  EXPECT_TRUE(reporting_.SetStandby(true));
  EXPECT_FALSE(reporting_.SetStandby(true));
  EXPECT_EQ(headgated_.silences, 1);
  Watch(true);
  reporting_.TellTrouble("PostgreSQL can't be watched", {});
  EXPECT_THAT(headgated_.reports, SizeIs(0));
  EXPECT_TRUE(reporting_.SetStandby(false));
  Watch(true);
  EXPECT_THAT(headgated_.reports, SizeIs(1));
  EXPECT_EQ(headgated_.silences, 1);
}

}  // namespace
}  // namespace headgate::agent
