// What headgate agent takes of a processor beside 500 sessions of a real PostgreSQL, and what its
// questions take there, with none, some and all of them batch work. Half of the batch sessions are
// within a transaction, whose processor times are looked at.
//
//   headgate-bench-agent [--seconds=N]

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/cpu_time.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

constexpr int kSessions = 500;

#define REQUIRE(condition)                                                       \
  if (!(condition)) {                                                            \
    std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                                \
  }

// The backend that serves the agent.
int AgentsBackend(const PostgresServer& server) {
  const auto rows =
      server.RunSql("SELECT pid FROM pg_stat_activity WHERE application_name = 'headgate agent'");
  int pid = 0;
  REQUIRE(rows.ok() && rows->size() == 1 && absl::SimpleAtoi((*rows)[0][0], &pid));
  return pid;
}

void Measure(const PostgresServer& server, int batch, absl::Duration time) {
  std::vector<SqlSession> sessions;
  for (int i = 0; i < kSessions; ++i) {
    auto session = SqlSession::Open(server.SocketDsn(i < batch ? "batch" : "web"));
    REQUIRE(session.ok());
    sessions.push_back(*std::move(session));
    if (i < batch && i % 2 == 0) REQUIRE(sessions.back().Run("BEGIN; SELECT txid_current()").ok());
  }
  const std::string state = absl::StrCat("/tmp/headgate-bench-agent-", getpid());
  Subprocess agent({HEADGATE_PROGRAM, "agent", "--batch", "role=batch", "--dsn",
                    server.SocketDsn("agent"), "--state-dir", state});
  const bool runs =
      WaitUntil([&] { return absl::StrContains(agent.Out(), "yields: yes") || agent.HasEnded(); });
  REQUIRE(runs && !agent.HasEnded());
  poll(nullptr, 0, 1000);
  const int backend = AgentsBackend(server);
  const absl::Duration agent_before = CpuTimeOf(agent.pid()), backend_before = CpuTimeOf(backend);
  const int64_t begin_ns = MonotonicNs();
  poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(time)));
  const absl::Duration passed = absl::Nanoseconds(MonotonicNs() - begin_ns);
  const auto percent = [&](absl::Duration used) { return 100 * absl::FDivDuration(used, passed); };
  std::printf("sessions %d batch %d agent_percent %.3f postgres_percent %.3f\n", kSessions, batch,
              percent(CpuTimeOf(agent.pid()) - agent_before),
              percent(CpuTimeOf(backend) - backend_before));
  std::fflush(stdout);
  const int64_t end_begins_ns = MonotonicNs();
  REQUIRE(agent.Stop().ok());
  std::printf("end_ms %.0f\n", static_cast<double>(MonotonicNs() - end_begins_ns) / 1e6);
  std::filesystem::remove_all(state);
}

int Run(absl::Duration time) {
  auto cluster = PostgresCluster::Start({.settings = {{"max_connections", "600"}}});
  if (!cluster.ok()) {
    std::fprintf(stderr, "%s\n", cluster.status().ToString().c_str());
    return 1;
  }
  PostgresServer& server = (*cluster)->primary();
  for (const char* sql : {"CREATE ROLE batch LOGIN", "CREATE ROLE web LOGIN",
                          "CREATE ROLE agent LOGIN IN ROLE pg_read_all_stats"}) {
    REQUIRE(server.RunSql(sql).ok());
  }
  for (const int batch : {0, 8, 100, kSessions}) Measure(server, batch, time);
  return 0;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  absl::Duration time = absl::Seconds(10);
  for (int i = 1; i < argc; ++i) {
    int seconds = 0;
    const std::string word = argv[i];
    if (!word.starts_with("--seconds=") || !absl::SimpleAtoi(word.substr(10), &seconds)) {
      std::fprintf(stderr, "usage: headgate-bench-agent [--seconds=N]\n");
      return 2;
    }
    time = absl::Seconds(seconds);
  }
  return headgate::bench::Run(time);
}
