// headgate agent and headgated, as programs, beside a real PostgreSQL: what is told, and what
// becomes of it and of sessions when either goes.

#include <headgate/v1/status_service.grpc.pb.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/strings/str_format.h"
#include "tests/agent/agent_fixture.h"
#include "tests/govern/access/literal_evidence.h"
#include "tests/testing/certificates.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"

namespace headgate::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOrders[] = "targets: [{name: orders, batch_work: {roles: [batch]}}]\n";
// The same with a rate that is found.
constexpr char kFoundRate[] = R"yaml(
targets: [{name: orders, batch_work: {roles: [batch]}, primary: {dsn: "%s"}}]
budgets: [{name: found, rate: auto}]
rules: [{name: all, charge: [found]}]
)yaml";

class ToldTest : public AgentTest {
 protected:
  // Without --batch: it takes what the server has.
  std::vector<std::string> Telling(const std::string& state, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {
        HEADGATE_PROGRAM,    "agent",     "--dsn",           Dsn(),      "--state-dir",
        folder_.File(state), "--address", server_.address(), "--target", "orders"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void StartTelling() {
    agent_ = std::make_unique<Subprocess>(Telling("state"));
    Says(absl::StrCat("headgated at ", server_.address(), " is told which sessions yield"));
    Says("batch work, as headgated has it: role=batch\n");
  }
  static const v1::TargetStatus& OrdersIn(const v1::GetStatusResponse& status) {
    return status.targets(0);
  }
  // Whether the status came to be so in time.
  bool Comes(const std::function<bool(const v1::TargetStatus&)>& condition) const {
    return server_.AwaitStatus([&](const v1::GetStatusResponse& status) {
      return status.targets_size() == 1 && condition(OrdersIn(status));
    });
  }
  bool ComesToYield(int64_t sessions) const {
    return Comes([&](const v1::TargetStatus& target) {
      return target.agent().state().yields() && target.agent().state().yielding() == sessions;
    });
  }
  bool ComesToHaveNoAgent() const {
    return Comes([](const v1::TargetStatus& target) { return !target.has_agent(); });
  }

  RunningHeadgated server_{{.yaml = kOrders}};
};

TEST_F(ToldTest, StatusShowsWhoYieldsAndWhoWasRaisedForWhom) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch", "backfill-7"), web = Connect("web", "orders-api");
  const std::map<int, std::string> before = Classes();
  StartTelling();
  WaitForYield(batch);
  ASSERT_TRUE(Comes([&](const v1::TargetStatus& target) {
    return target.agent().state().yielding_sessions_size() == 1 &&
           target.agent().state().yielding_sessions(0).application_name() == "backfill-7";
  })) << server_.Status().DebugString();
  const v1::TargetStatus yields = OrdersIn(server_.Status());
  EXPECT_EQ(yields.agent().state().yielding_sessions(0).pid(), batch.backend_pid());
  EXPECT_EQ(yields.agent().state().yielding_sessions(0).role(), "batch");
  EXPECT_THAT(yields.agent().peer(), HasSubstr("127.0.0.1:"));
  EXPECT_TRUE(server_.AwaitLog("an agent has come"));
  // What it has done while it yielded is counted.
  ASSERT_TRUE(batch.Run("SELECT count(*) FROM generate_series(1, 1000000)").ok());
  EXPECT_TRUE(Comes([](const v1::TargetStatus& target) {
    return target.agent().state().processor_seconds() > 0.01;
  })) << server_.Status().DebugString();

  ASSERT_TRUE(batch.Run("BEGIN; UPDATE t SET i = i WHERE i = 1").ok());
  ASSERT_TRUE(web.Start("UPDATE t SET i = i WHERE i = 1").ok());
  EXPECT_TRUE(Comes([&](const v1::TargetStatus& target) {
    const v1::AgentState& state = target.agent().state();
    return state.raised() == 1 && state.raised_sessions_size() == 1 &&
           state.raised_sessions(0).waiter().application_name() == "orders-api";
  })) << server_.Status().DebugString();
  const Finished shown =
      Subprocess({HEADGATE_PROGRAM, "status", "--address", server_.address()}).Wait();
  EXPECT_THAT(shown.out, HasSubstr(absl::StrCat("raised: pid ", batch.backend_pid(),
                                                " backfill-7 (role batch), for pid ",
                                                web.backend_pid(), " orders-api (role web)\n")));
  ASSERT_TRUE(batch.Run("COMMIT").ok());
  ASSERT_TRUE(web.Finish().ok());
  EXPECT_TRUE(ComesToYield(1));

  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0);
  EXPECT_TRUE(ComesToHaveNoAgent());
  EXPECT_TRUE(server_.AwaitLog("the agent has gone"));
  EverythingIsAs(before);
}

TEST_F(ToldTest, RateAutoFollowsWhetherSessionsYield) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  const SqlSession batch = Connect("batch");
  const std::jthread foreground([](const std::stop_token& stop) {
    SqlSession web = Connect("web");
    while (!stop.stop_requested()) EXPECT_TRUE(web.Run("SELECT count(*) FROM t").ok());
  });
  server_.Rewrite(absl::StrFormat(kFoundRate, Dsn()));
  const auto controls_sessions = [](const v1::TargetStatus& target) {
    return target.controllers_size() == 1 &&
           absl::StrContains(target.controllers(0).explanation(), "sessions yield the processor");
  };
  // A job asks meanwhile.
  const auto comes_to = [&](bool yields) {
    return Comes([&](const v1::TargetStatus& target) {
      server_.Check("job", 0.01, "orders");
      return target.controllers_size() == 1 && controls_sessions(target) == yields;
    });
  };
  EXPECT_TRUE(comes_to(false)) << server_.Status().DebugString();
  StartTelling();
  EXPECT_TRUE(comes_to(true)) << server_.Status().DebugString();
  agent_->Kill();
  EXPECT_TRUE(comes_to(false)) << server_.Status().DebugString();
}

TEST_F(ToldTest, AnAgentThatIsKilledHasNothingYieldAnyMore) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  const std::map<int, std::string> before = Classes();
  StartTelling();
  ASSERT_TRUE(ComesToYield(1));
  agent_->Kill();
  EXPECT_TRUE(ComesToHaveNoAgent());
  EverythingIsAs(before);
}

TEST_F(ToldTest, AnAgentThatIsSilentIsNotBelievedAnyMoreUntilItTellsAgain) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  StartTelling();
  ASSERT_TRUE(ComesToYield(1));
  agent_->Signal(SIGSTOP);
  EXPECT_TRUE(ComesToHaveNoAgent());
  EXPECT_TRUE(server_.AwaitLog("it has said nothing for 1.5 s"));
  agent_->Signal(SIGCONT);
  EXPECT_TRUE(ComesToYield(1));
}

TEST_F(ToldTest, WhatBecomesOfHeadgatedChangesNothingForSessions) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  StartTelling();
  ASSERT_TRUE(ComesToYield(1));
  server_.Kill();
  Says(absl::StrCat("headgated at ", server_.address(), " is not told: "));
  SqlSession later = Connect("batch");
  WaitForYield(later);
  EXPECT_TRUE(Yields(batch.backend_pid()));
  server_.Restart();
  // The test's own connection finds out by a call that fails.
  EXPECT_TRUE(WaitUntil(
      [&] { return CallRpc(server_.channel(), &v1::StatusService::Stub::GetStatus).ok(); }));
  EXPECT_TRUE(ComesToYield(2));
  Says("is told which sessions yield", 2);
  // One that hangs is no other.
  server_.Signal(SIGSTOP);
  SqlSession last = Connect("batch");
  WaitForYield(last);
  server_.Signal(SIGCONT);
  EXPECT_TRUE(ComesToYield(3));
}

TEST_F(ToldTest, ASecondAgentIsRefusedUntilTheFirstIsGone) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  StartTelling();
  ASSERT_TRUE(ComesToYield(1));
  Subprocess second(Telling("other", {"--batch", "role=nobody"}));
  ASSERT_TRUE(second.AwaitOut("tells of target 'orders' already")) << second.Out();
  EXPECT_TRUE(ComesToYield(1));
  agent_->Kill();
  ASSERT_TRUE(second.AwaitOut("is told which sessions yield")) << second.Out();
  EXPECT_TRUE(ComesToYield(0));
}

TEST_F(ToldTest, AConnectionThatHasGrownOldIsLeftWithoutAGap) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch");
  const RunningHeadgated restless(
      {.yaml = absl::StrCat("server: {max_connection_age: 1s}\n", kOrders)});
  Subprocess agent({HEADGATE_PROGRAM, "agent", "--dsn", Dsn(), "--state-dir", folder_.File("state"),
                    "--address", restless.address()});
  ASSERT_TRUE(agent.AwaitOut("is told which sessions yield")) << agent.Out();
  const int64_t before = restless.Status().connections().accepted();
  // The test's own is as restless.
  EXPECT_TRUE(restless.AwaitStatus([&](const v1::GetStatusResponse& status) {
    return status.connections().accepted() >= before + 8;
  }));
  EXPECT_THAT(restless.Log(), Not(HasSubstr("the agent has gone")));
  EXPECT_THAT(agent.Out(), Not(HasSubstr("is not told")));
}

TEST_F(ToldTest, AConfigurationThatChangesIsFollowed) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  SqlSession batch = Connect("batch"), nightly = Connect("web", "nightly-1");
  StartTelling();
  WaitForYield(batch);
  server_.Rewrite("targets: [{name: orders, batch_work: {application_names: [nightly*]}}]\n");
  WaitForYield(nightly);
  WaitForYield(batch, false);
  server_.Rewrite("targets: [{name: orders}]\n");
  Says("headgated has no batch_work for the target: no session yields");
  WaitForYield(nightly, false);
}

TEST_F(ToldTest, APostgresThatCannotBeWatchedIsTold) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  std::optional<SqlSession> batch = Connect("batch");
  StartTelling();
  ASSERT_TRUE(ComesToYield(1));
  SharedPostgres().Suspend();
  EXPECT_TRUE(Comes([](const v1::TargetStatus& target) {
    return target.has_agent() && !target.agent().state().yields() &&
           absl::StrContains(target.agent().state().means(), "PostgreSQL can't be watched");
  })) << server_.Status().DebugString();
  EXPECT_TRUE(server_.AwaitLog("batch work does not yield the processor"));
  SharedPostgres().Resume();
  EXPECT_TRUE(ComesToYield(1));
  EXPECT_TRUE(server_.AwaitLog("batch work yields the processor"));
}

// One of two servers of a cluster, each with its agent, and both for one target.
TEST_F(ToldTest, ThePrimarysAgentTellsAndTheStandbysOnceItIsPromoted) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  auto cluster = PostgresCluster::Start({.standbys = 1});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  PostgresServer& primary = (*cluster)->primary();
  PostgresServer& standby = (*cluster)->standby();
  for (const char* sql :
       {"CREATE ROLE batch LOGIN", "CREATE ROLE agent LOGIN IN ROLE pg_read_all_stats"}) {
    ASSERT_TRUE(primary.RunSql(sql).ok()) << sql;
  }
  ASSERT_TRUE((*cluster)->WaitForStandbys().ok());
  const auto beside = [&](const PostgresServer& server) {
    std::vector<std::string> words = Telling(server.name(), {"--batch", "role=batch"});
    std::replace(words.begin(), words.end(), Dsn(), server.SocketDsn("agent"));
    return words;
  };
  // The standby's is there first, and does not stand in the way.
  Subprocess second(beside(standby));
  ASSERT_TRUE(
      second.AwaitOut("PostgreSQL is a standby: headgated is told by the agent of the primary"))
      << second.Out() << second.Err();
  ASSERT_TRUE(second.AwaitOut("is watched as role agent; yields: yes")) << second.Out();
  // Reading batch work on the standby yields as well.
  auto reads = SqlSession::Open(standby.SocketDsn("batch"));
  ASSERT_TRUE(reads.ok()) << reads.status();
  {
    Subprocess first(beside(primary));
    ASSERT_TRUE(first.AwaitOut("is told which sessions yield")) << first.Out() << first.Err();
    EXPECT_TRUE(ComesToYield(0));
    EXPECT_THAT(second.Out(), Not(HasSubstr("headgated at ")));
    WaitForYield(*reads);
    primary.Kill();
    ASSERT_TRUE(standby.Promote().ok());
    ASSERT_TRUE(second.AwaitOut("PostgreSQL is a primary: headgated is told")) << second.Out();
    // The first goes on to say that it can't watch PostgreSQL.
    EXPECT_TRUE(second.AwaitOut("tells of target 'orders' already")) << second.Out();
  }
  EXPECT_TRUE(ComesToYield(1)) << server_.Status().DebugString();
}

TEST_F(ToldTest, TakesTheGrantByTlsAndTokenAsAllCommandsDo) {
  HEADGATE_SKIP_WITHOUT_YIELD();
  CertificateAuthority authority("authority");
  const TestCertificate certificate = authority.SignServer();
  ReplaceFile(folder_.File("tls.crt"), certificate.certificate);
  ReplaceFile(folder_.File("tls.key"), certificate.key);
  ReplaceFile(folder_.File("ca.crt"), authority.certificate());
  const std::map<std::string, std::string> tokens = {{"beside", "beside-0123456789abcdef"},
                                                     {"job", "job-0123456789abcdef0123"}};
  std::string lines;
  for (const auto& [name, token] : tokens) {
    ReplaceFile(folder_.File(name), token);
    lines += access::TokenLine(name, token);
  }
  ReplaceFile(folder_.File("tokens"), lines);
  const RunningHeadgated guarded(
      {.yaml = absl::StrCat(kOrders, "tls: {certificate_file: ", folder_.File("tls.crt"),
                            ", key_file: ", folder_.File("tls.key"),
                            "}\naccess:\n  token_file: ", folder_.File("tokens"),
                            "\n  callers:\n    - {name: beside, token: beside, agent: true}\n"
                            "    - {name: job, token: job, identities: ['*']}\n")});
  const auto command = [&](const std::string& token) {
    return std::vector<std::string>{HEADGATE_PROGRAM,
                                    "agent",
                                    "--dsn",
                                    Dsn(),
                                    "--state-dir",
                                    folder_.File("state-of-" + token),
                                    "--address",
                                    guarded.address(),
                                    "--tls-ca",
                                    folder_.File("ca.crt"),
                                    "--tls-server-name",
                                    "localhost",
                                    "--token-file",
                                    folder_.File(token)};
  };
  Subprocess job(command("job"));
  EXPECT_TRUE(job.AwaitOut("caller 'job' is not granted agent")) << job.Out();
  Subprocess beside(command("beside"));
  EXPECT_TRUE(beside.AwaitOut("is told which sessions yield")) << beside.Out();
  EXPECT_TRUE(guarded.AwaitLog("an agent has come"));
  EXPECT_TRUE(guarded.AwaitLog("access denied"));
}

}  // namespace
}  // namespace headgate::agent
