// headgate agent as a program, beside a real PostgreSQL.

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "tests/agent/agent_fixture.h"

namespace headgate::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The watchdog is the agent's only child.
pid_t WatchdogOf(pid_t agent) {
  std::vector<pid_t> children;
  EXPECT_TRUE(WaitUntil([&] { return !(children = ChildrenOf(agent)).empty(); }));
  return children.empty() ? 0 : children[0];
}

TEST_F(AgentTest, BatchSessionsYieldAndAllIsAsItWasAtTheEnd) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch"), named = Connect("web", "nightly-7");
  SqlSession web = Connect("web"), super = Connect("postgres", "nightly-8");
  const std::map<int, std::string> before = Classes();
  StartAgent();
  WaitForYield(batch);
  WaitForYield(named);
  SqlSession later = Connect("batch");
  WaitForYield(later);
  // A session of a pool that is now somebody else's, and is batch work again.
  ASSERT_TRUE(named.Run("SET application_name = 'shop'").ok());
  WaitForYield(named, false);
  ASSERT_TRUE(named.Run("SET application_name = 'nightly-9'").ok());
  WaitForYield(named);
  // Nobody else is touched: superusers, others' sessions, the server's own processes.
  for (const auto& [pid, text] : Classes()) {
    const bool is_batch =
        pid == batch.backend_pid() || pid == named.backend_pid() || pid == later.backend_pid();
    EXPECT_EQ(Yields(pid), is_batch) << pid;
  }
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0) << agent_->Err();
  EXPECT_THAT(agent_->Out(), HasSubstr("the agent ends; all sessions are as they were"));
  EverythingIsAs(before);
}

TEST_F(AgentTest, WhoOthersWaitForIsRaisedUntilNobodyDoes) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch"), web = Connect("web");
  StartAgent({"--metrics-file", folder_.File("agent.prom")});
  WaitForYield(batch);
  ASSERT_TRUE(batch.Run("BEGIN; UPDATE t SET i = i WHERE i = 1").ok());
  ASSERT_TRUE(web.Start("UPDATE t SET i = i WHERE i = 1").ok());
  Says(absl::StrCat("session ", batch.backend_pid(), " is raised: session ", web.backend_pid(),
                    " waits for it"));
  WaitForYield(batch, false);
  const auto metrics = [&] {
    return scheduling::ReadSmallFile(folder_.File("agent.prom")).value_or("");
  };
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(metrics(), "headgate_agent_sessions{rank=\"raised\"} 1\n");
  })) << metrics();
  EXPECT_THAT(metrics(), AllOf(HasSubstr("headgate_agent_yields 1\n"),
                               HasSubstr("headgate_agent_raises_total{reason=\"lock_wait\"} 1\n")));
  ASSERT_TRUE(batch.Run("COMMIT").ok());
  ASSERT_TRUE(web.Finish().ok());
  WaitForYield(batch);
  // Jobs that wait for each other are nobody's harm.
  SqlSession other = Connect("batch");
  WaitForYield(other);
  ASSERT_TRUE(batch.Run("BEGIN; UPDATE t SET i = i WHERE i = 2").ok());
  ASSERT_TRUE(other.Start("UPDATE t SET i = i WHERE i = 2").ok());
  ASSERT_TRUE(web.Run("SELECT pg_sleep(0.3)").ok());
  EXPECT_TRUE(Yields(batch.backend_pid()));
  ASSERT_TRUE(batch.Run("COMMIT").ok());
  ASSERT_TRUE(other.Finish().ok());
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("agent.prom")));
}

// Beside a session that spins on each processor.
TEST_F(AgentTest, WhoGetsNextToNothingIsRaisedForMomentsUpToTheFloor) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  constexpr char kSpin[] = "DO 'BEGIN LOOP EXIT WHEN false; END LOOP; END'";
  SqlSession batch = Connect("batch");
  std::vector<SqlSession> webs;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) webs.push_back(Connect("web"));
  StartAgent({"--metrics-file", folder_.File("agent.prom")});
  WaitForYield(batch);
  for (SqlSession& web : webs) ASSERT_TRUE(web.Start(kSpin).ok());
  ASSERT_TRUE(batch.Start(kSpin).ok());
  Says(" processors at least");
  Says("batch work gets less of the processors than its floor");
  EXPECT_TRUE(WaitUntil([&] {
    const auto metrics = scheduling::ReadSmallFile(folder_.File("agent.prom")).value_or("");
    return absl::StrContains(metrics, "headgate_agent_raises_total{reason=\"floor\"} ") &&
           !absl::StrContains(metrics, "{reason=\"floor\"} 0\n");
  }));
  WaitForYield(batch);  // again
  ASSERT_TRUE(SharedPostgres()
                  .RunSql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN "
                          "('web', 'batch')")
                  .ok());
}

TEST_F(AgentTest, AKilledAgentLeavesNothingBehind) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch"), other = Connect("batch");
  const std::map<int, std::string> before = Classes();
  StartAgent();
  WaitForYield(batch);
  WaitForYield(other);
  agent_->Kill();
  EverythingIsAs(before);
  // The next one begins once the watchdog is done, and finds nothing to restore.
  StartAgent();
  EXPECT_THAT(agent_->Out(), Not(HasSubstr("an earlier agent")));
  WaitForYield(batch);
  // A watchdog that is killed is replaced.
  const pid_t watchdog = WatchdogOf(agent_->pid());
  kill(watchdog, SIGKILL);
  Says("the watchdog had ended; there is another one");
  agent_->Kill();
  EverythingIsAs(before);
}

TEST_F(AgentTest, WhatAgentAndWatchdogLeftTheNextStartRestores) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  std::optional<SqlSession> ends = Connect("batch");
  const std::map<int, std::string> before = Classes();
  StartAgent();
  WaitForYield(batch);
  WaitForYield(*ends);
  const pid_t watchdog = WatchdogOf(agent_->pid());
  agent_->Signal(SIGSTOP);
  kill(watchdog, SIGKILL);
  agent_->Kill();
  EXPECT_TRUE(Yields(batch.backend_pid()));
  const int ended = ends->backend_pid();
  ends.reset();
  EXPECT_TRUE(WaitUntil([&] { return !IsRunning(ended); }));
  const Finished restored = Subprocess(Command({"--restore"})).Wait();
  EXPECT_EQ(restored.status, 0);
  EXPECT_EQ(restored.out,
            "an earlier agent had left sessions that yield: 1 are as they were, 1 have ended\n");
  EverythingIsAs(before);
}

TEST_F(AgentTest, OneFolderIsOneAgents) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  StartAgent();
  const Finished second = Subprocess(Command({"--restore"})).Wait();
  EXPECT_EQ(second.status, 4);
  EXPECT_THAT(second.err, HasSubstr("another agent uses the folder"));
}

TEST_F(AgentTest, FollowsPostgresThroughACrash) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  {
    SqlSession batch = Connect("batch");
    StartAgent();
    WaitForYield(batch);
    // A backend that crashes takes all others with it, and the server begins anew.
    kill(batch.backend_pid(), SIGKILL);
  }
  Says("PostgreSQL can't be watched: ");
  Says("is watched as role agent; yields: yes", 2);
  std::optional<SqlSession> again = Connect("batch");
  WaitForYield(*again);
  SharedPostgres().Kill();
  again.reset();
  Says("PostgreSQL can't be watched: ", 2);
  ASSERT_TRUE(SharedPostgres().Start().ok());
  Says("is watched as role agent; yields: yes", 3);
  SqlSession anew = Connect("batch");
  WaitForYield(anew);
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0);
  EverythingIsAs({});
}

TEST_F(AgentTest, APostgresThatHangsHasNobodyYield) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  StartAgent();
  WaitForYield(batch);
  SharedPostgres().Suspend();
  Says("PostgreSQL can't be watched: PostgreSQL does not answer in time");
  WaitForYield(batch, false);
  SharedPostgres().Resume();
  WaitForYield(batch);
}

TEST_F(AgentTest, CheckSaysWhatWorksHere) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  EXPECT_THAT(Checked().out,
              AllOf(HasSubstr("as role agent\n"), HasSubstr("sessions of batch work: "),
                    HasSubstr("a cgroup with cpu.idle: "), HasSubstr("SCHED_IDLE: "),
                    HasSubstr("autogroup nice 19: "), HasSubstr("yields: yes, by ")));
}

// As in a container that was given nothing.
TEST_F(AgentTest, WithoutPrivilegesItSaysSoAndTouchesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give its privileges away";
  SqlSession batch = Connect("batch");
  const std::map<int, std::string> before = Classes();
  std::filesystem::create_directory(folder_.File("state"));
  for (const auto& path : {folder_.path().string(), folder_.File("state")}) {
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  }
  const auto unprivileged = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"setpriv",        "--reuid=65534",   "--regid=65534",
                                      "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"};
    for (std::string word : Command(std::move(more))) {
      words.push_back(word == Dsn() ? SharedPostgres().Dsn("agent") : std::move(word));
    }
    return words;
  };
  const Finished check = Subprocess(unprivileged({"--check"})).Wait();
  EXPECT_EQ(check.status, 4) << check.out << check.err;
  EXPECT_THAT(check.out,
              AllOf(HasSubstr("SCHED_IDLE: does not: "), HasSubstr("(CAP_SYS_NICE is missing)"),
                    HasSubstr("yields: no, for these reasons\n")));
  agent_ = std::make_unique<Subprocess>(unprivileged({}));
  Says("; no session is touched");
  EverythingIsAs(before);
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0);
}

TEST_F(AgentTest, TheProbeKnowsWhatDoesNotYield) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  const auto autogroups =
      scheduling::ReadSmallFile("/proc/sys/kernel/sched_autogroup_enabled").value_or("0");
  const auto group =
      scheduling::ReadSmallFile(absl::StrCat("/proc/", SharedPostgres().pid(), "/cgroup"));
  if (!autogroups.starts_with('1') || !absl::StrContains(group.value_or(""), ":cpu:/\n")) {
    GTEST_SKIP() << "PostgreSQL's backends are no autogroups here";
  }
  EXPECT_THAT(Checked().out, AllOf(HasSubstr("\nSCHED_IDLE: does not: "),
                                   HasSubstr("each backend is an autogroup of its own")));
}

}  // namespace
}  // namespace headgate::agent
