// A server's rounds go well, and it cannot keep the states of its targets: a grant is missing, its
// role may have one connection and no more, or the table is gone for all.

#include <headgate/v1/cluster_service.grpc.pb.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"
#include "tests/testing/error_details.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

using testing::HasSubstr;

constexpr char kBegun[] = "the store does not keep this server's states";
constexpr char kEnded[] = "the store keeps this server's states again";

double PromiseOf(absl::Duration span) { return 500 + 100 * absl::ToDoubleSeconds(span); }

size_t Count(const std::string& log, const std::string& text) {
  return std::vector<std::string>(absl::StrSplit(log, text)).size() - 1;
}

class States : public testing::Test {
 protected:
  void Run(const std::string& sql) {
    const auto ran = servers_.store().RunSql(sql);
    ASSERT_TRUE(ran.ok()) << sql << ": " << ran.status();
  }
  // Of a target, as the store has it.
  int64_t Number(const std::string& column, const std::string& table, const std::string& where) {
    const auto rows = servers_.store().RunSql(
        absl::StrCat("SELECT ", column, " FROM headgate_store.", table, " WHERE ", where));
    return rows.ok() && !rows->empty() ? std::atoll((*rows)[0][0].c_str()) : -1;
  }
  int64_t Generation() { return Number("generation", "ownership", "target = 'orders'"); }
  // All servers have had so many rounds more.
  bool AwaitRounds(int64_t more) {
    const int64_t before = Number("min(round)", "member", "true");
    return WaitUntil([&] { return Number("min(round)", "member", "true") > before + more; });
  }
  v1::MemberTarget OfferOf(int asked, int server) {
    const v1::ClusterStatus cluster =
        AnswerOf(Peer{servers_.channel(asked)}, &v1::ClusterService::Stub::ListMembers).cluster();
    for (const v1::MemberStatus& member : cluster.members()) {
      if (member.name() != Deployment::NameOf(server)) continue;
      for (const v1::MemberTarget& offer : member.offers()) {
        if (offer.target() == "orders") return offer;
      }
    }
    return {};
  }

  // The owner gives up what it has, says so, and is given it back when all is well again.
  template <typename Break, typename Mend>
  void GivesUpWhile(const Break& breaks, const Mend& mends, const std::string& why) {
    const int owner = servers_.AwaitOwnerNumber("orders");
    const int other = 1 - owner;
    ASSERT_TRUE(AwaitRounds(5));  // by then it is where it belongs
    ASSERT_EQ(servers_.OwnerNumber("orders"), owner);
    SteadyCaller caller(servers_, other, "orders", 10);
    ASSERT_TRUE(WaitUntil([&] { return caller.asked() > 50; }));
    breaks(Deployment::RoleOf(owner));
    ASSERT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") == other; }))
        << servers_[owner].Log();
    EXPECT_TRUE(servers_.AwaitOwners(owner));
    EXPECT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("billing") == other; }));
    EXPECT_TRUE(servers_.AwaitLog(owner, kBegun));
    EXPECT_THAT(servers_[owner].Log(), HasSubstr(why));
    const v1::MemberTarget offer = OfferOf(other, owner);
    EXPECT_TRUE(offer.keeps_no_state());
    EXPECT_THAT(offer.why(), HasSubstr(why));
    // It is given nothing, though it is its turn.
    const int64_t generation = Generation();
    ASSERT_TRUE(AwaitRounds(10));
    EXPECT_EQ(Generation(), generation);
    mends(Deployment::RoleOf(owner));
    EXPECT_TRUE(servers_.AwaitLog(owner, kEnded));
    EXPECT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") == owner; }));
    EXPECT_FALSE(OfferOf(other, owner).keeps_no_state());
    caller.Stop();
    EXPECT_EQ(caller.failed(), 0) << caller.last_error();
    EXPECT_LE(caller.admitted(), PromiseOf(caller.span()));
    EXPECT_EQ(Count(servers_[owner].Log(), kBegun), 1U);
    EXPECT_EQ(Count(servers_[owner].Log(), kEnded), 1U);
    EXPECT_EQ(Count(servers_[other].Log(), kBegun), 0U);
  }

  Deployment servers_{{.servers = 2, .targets = {"orders", "billing"}, .has_roles = true}};
};

TEST_F(States, AServerWithoutTheGrantGivesItsTargetsUpUntilItHasIt) {
  GivesUpWhile(
      [this](const std::string& role) {
        Run(absl::StrCat("REVOKE INSERT ON headgate_store.state FROM ", role));
      },
      [this](const std::string& role) {
        Run(absl::StrCat("GRANT INSERT ON headgate_store.state TO ", role));
      },
      "permission denied for table state");
}

// Its rounds have the only one that it may have.
TEST_F(States, AServerWithoutAConnectionForThemGivesItsTargetsUpUntilItHasOne) {
  GivesUpWhile(
      [this](const std::string& role) {
        Run(absl::StrCat("ALTER ROLE ", role, " CONNECTION LIMIT 1"));
        Run(absl::StrCat("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '",
                         role, "' AND query NOT LIKE '%INSERT INTO headgate_store.member%'"));
      },
      [this](const std::string& role) {
        Run(absl::StrCat("ALTER ROLE ", role, " CONNECTION LIMIT -1"));
      },
      "too many connections for role");
}

// Nobody would do better, and what it admitted its owner knows.
TEST_F(States, WhereTheTableIsGoneForAllOwnersGoOnAndNobodyTakesWhatADeadOneHad) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = 1 - owner;
  ASSERT_TRUE(AwaitRounds(5));
  SteadyCaller caller(servers_, other, "orders", 10);
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > 50; }));
  const int64_t generation = Generation();
  Run("DROP TABLE headgate_store.state");
  EXPECT_TRUE(servers_.AwaitLog(0, kBegun));
  EXPECT_TRUE(servers_.AwaitLog(1, kBegun));
  ASSERT_TRUE(AwaitRounds(15));
  EXPECT_EQ(Generation(), generation);
  const int64_t asked = caller.asked();
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > asked + 20; }));
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
  servers_[owner].Kill();
  // Whoever asks is told so, and the one that lives on does not take what it cannot read.
  grpc::Status status;
  ASSERT_TRUE(WaitUntil([&] {
    status = servers_.TryCheck(other, "orders", "job", nullptr, 1, absl::Seconds(2));
    return ReadDetails(status).value_or(ErrorDetails()).reason == "NO_OWNER";
  })) << status.error_message();
  const std::string living = absl::StrCat("name = '", Deployment::NameOf(other), "'");
  const int64_t round = Number("round", "member", living);
  ASSERT_TRUE(WaitUntil([&] { return Number("round", "member", living) > round + 10; }));
  EXPECT_EQ(Generation(), generation);
  SystemClock clock;
  const auto made =
      store::Init({.dsn = servers_.store().Dsn(), .timeout = absl::Seconds(30)}, clock);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(servers_.AwaitOwners(other));
  EXPECT_TRUE(servers_.AwaitLog(other, kEnded));
  caller.Stop();
  EXPECT_LE(caller.admitted(), PromiseOf(caller.span()));
}

}  // namespace
}  // namespace headgate
