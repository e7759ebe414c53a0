// A PostgreSQL with roles for jobs, and the agent's program beside it.
//
// Where the kernel lets nobody yield, or this account has no right to it, tests skip and say why.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/agent/linux_processes.h"
#include "client/scheduling/kernel_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_process.h"
#include "tests/testing/shared_postgres.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::agent {

// All that decides how a process is scheduled, as text.
inline std::string ClassOf(int pid) {
  const auto read = [&](const char* name) {
    return scheduling::ReadSmallFile(absl::StrCat("/proc/", pid, "/", name)).value_or("-");
  };
  constexpr int kWhoProcess = 1;
  return absl::StrCat(sched_getscheduler(pid), " ", syscall(SYS_ioprio_get, kWhoProcess, pid), " ",
                      read("autogroup"), read("cgroup"));
}

// By whichever means this machine has.
inline bool Yields(int pid) {
  const std::string text = ClassOf(pid);
  return sched_getscheduler(pid) == SCHED_IDLE || absl::StrContains(text, "/headgate-yield") ||
         absl::StrContains(text, "nice 19");
}

class AgentTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool made = [] {
      for (const char* sql :
           {"CREATE ROLE batch LOGIN", "CREATE ROLE web LOGIN", "CREATE ROLE blind LOGIN",
            "CREATE ROLE agent LOGIN IN ROLE pg_read_all_stats", "CREATE TABLE t (i int)",
            "INSERT INTO t SELECT generate_series(1, 1000)", "GRANT ALL ON t TO batch, web"}) {
        EXPECT_TRUE(SharedPostgres().RunSql(sql).ok()) << sql;
      }
      return true;
    }();
    EXPECT_TRUE(made);
  }

  static SqlSession Connect(const std::string& role, const std::string& application = "psql") {
    auto session =
        SqlSession::Open(SharedPostgres().SocketDsn(role) + " application_name=" + application);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  static std::string Dsn() { return SharedPostgres().SocketDsn("agent"); }

  std::vector<std::string> Command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {HEADGATE_PROGRAM, "agent",
                                      "--dsn",          Dsn(),
                                      "--state-dir",    folder_.File("state"),
                                      "--batch",        "role=batch,application_name=nightly*"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Whether sessions can be made to yield here at all; the machine is asked once.
  static const Finished& Checked() {
    static const Finished finished = [] {
      const TempFolder folder;
      return Subprocess({HEADGATE_PROGRAM, "agent", "--dsn", Dsn(), "--state-dir",
                         folder.File("state"), "--batch", "role=batch", "--check"})
          .Wait();
    }();
    return finished;
  }

  void StartAgent(std::vector<std::string> more = {}) {
    agent_ = std::make_unique<Subprocess>(Command(std::move(more)));
    Says("is watched as role agent; yields: yes");
  }
  void Says(const std::string& text, int times = 1) {
    const auto says = [&] {
      const std::string out = agent_->Out();
      size_t found = 0;
      for (size_t at = out.find(text); at != std::string::npos; at = out.find(text, at + 1)) {
        ++found;
      }
      return found >= static_cast<size_t>(times);
    };
    EXPECT_TRUE(WaitUntil(says)) << text << " not in: " << agent_->Out() << agent_->Err();
  }
  static void WaitForYield(const SqlSession& session, bool yields = true) {
    EXPECT_TRUE(WaitUntil([&] { return Yields(session.backend_pid()) == yields; }))
        << session.backend_pid() << (yields ? " should yield" : " should not yield");
  }

  // Of all processes of PostgreSQL.
  static std::map<int, std::string> Classes() {
    std::map<int, std::string> classes;
    for (const pid_t pid : ChildrenOf(SharedPostgres().pid())) classes[pid] = ClassOf(pid);
    classes[SharedPostgres().pid()] = ClassOf(SharedPostgres().pid());
    return classes;
  }
  // Of those that were there then and are now.
  static void EverythingIsAs(const std::map<int, std::string>& before) {
    const auto is_same = [&] {
      for (const auto& [pid, text] : Classes()) {
        if (const auto found = before.find(pid); found != before.end() && found->second != text) {
          return false;
        }
        if (Yields(pid)) return false;
      }
      return true;
    };
    EXPECT_TRUE(WaitUntil(is_same));
  }

  TempFolder folder_;
  std::unique_ptr<Subprocess> agent_;
};

#define HEADGATE_SKIP_WITHOUT_YIELD() \
  if (Checked().status != 0) GTEST_SKIP() << Checked().out << Checked().err

}  // namespace headgate::agent
