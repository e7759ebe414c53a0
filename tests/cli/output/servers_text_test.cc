#include "client/cli/output/servers_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::ClusterStatus TwoServers() {
  v1::ClusterStatus cluster;
  cluster.set_server("headgate-0");
  for (const char* name : {"headgate-0", "headgate-1"}) {
    v1::MemberStatus& member = *cluster.add_members();
    member.set_name(name);
    member.set_address("10.0.0.1:8081");
    member.set_is_here(true);
    member.mutable_seen_ago()->set_nanos(200'000'000);
  }
  cluster.mutable_members(0)->set_targets(1);
  v1::TargetOwner& target = *cluster.add_targets();
  target.set_target("orders");
  target.set_owner("headgate-0");
  target.set_generation(3);
  return cluster;
}

TEST(ServersText, ShowsWhoIsHereAndWhoDecides) {
  EXPECT_EQ(ServersText(TwoServers(), Colours::kOff),
            "SERVER      STATE  TARGETS  SEEN       ADDRESS        NOTE\n"
            "headgate-0  here         1  200ms ago  10.0.0.1:8081  was asked\n"
            "headgate-1  here         0  200ms ago  10.0.0.1:8081\n"
            "\n"
            "TARGET  DECIDES     OWNERS SO FAR  MOVED TO\n"
            "orders  headgate-0              3\n");
}

TEST(ServersText, ShowsVersionsWhereTheyAreKnown) {
  v1::ClusterStatus cluster = TwoServers();
  cluster.mutable_members(1)->set_version("0.1.0");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              HasSubstr("ADDRESS        VERSION  NOTE\n"
                        "headgate-0  here         1  200ms ago  10.0.0.1:8081           was asked\n"
                        "headgate-1  here         0  200ms ago  10.0.0.1:8081  0.1.0\n"));
}

TEST(ServersText, SaysWhatIsWrong) {
  v1::ClusterStatus cluster = TwoServers();
  cluster.mutable_members(0)->set_is_drained(true);
  cluster.mutable_members(1)->set_is_here(false);
  cluster.mutable_members(1)->set_error("deadline\x1b[31m");
  cluster.mutable_targets(0)->clear_owner();
  cluster.mutable_targets(0)->set_preferred("headgate-1");
  cluster.set_store_error("connection refused");
  cluster.mutable_store_since()->set_seconds(90);
  cluster.set_name_is_taken(true);
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              AllOf(HasSubstr("two servers have one name: another process is headgate-0"),
                    HasSubstr("the store DOES NOT ANSWER: connection refused, for 1m30s\n"),
                    HasSubstr("headgate-0  drained"), HasSubstr("headgate-1  GONE"),
                    HasSubstr("DID NOT ANSWER: deadline"), HasSubstr("orders  UNKNOWN"),
                    Not(HasSubstr("\x1b"))));
}

TEST(ServersText, SaysWhetherTheServerDecidesOnWithoutTheStore) {
  v1::ClusterStatus cluster = TwoServers();
  cluster.set_store_error("connection refused");
  cluster.set_decides_on(true);
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              HasSubstr("headgate-0 decides on for what it owns, as all servers that it knows"));
  cluster.set_decides_on(false);
  cluster.add_not_agreeing("headgate-1");
  cluster.add_not_agreeing("headgate-2");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              HasSubstr("without the agreement of headgate-1, headgate-2\n"));
}

TEST(ServersText, SaysThatTheServerDecidesApproximately) {
  v1::ClusterStatus cluster = TwoServers();
  cluster.mutable_approximate()->set_servers(3);
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              HasSubstr("headgate-0 decides approximately for what has no owner that it can reach: "
                        "1/3 of each rate\n"));
}

TEST(ServersText, SaysWhoLacksATargetOrHasItOtherwiseOrCannotMeasureIt) {
  v1::ClusterStatus cluster = TwoServers();
  for (const char* name : {"headgate-2", "headgate-3"}) {
    v1::MemberStatus& member = *cluster.add_members();
    member.set_name(name);
    member.set_is_here(true);
  }
  const auto offer = [&](int member, const char* configuration) {
    v1::MemberTarget& made = *cluster.mutable_members(member)->add_offers();
    made.set_target("orders");
    made.set_configuration(configuration);
    made.set_measured(v1::MemberTarget::MEASURED_ALL);
    return &made;
  };
  offer(0, "1111111122222222");
  offer(1, "1111111122222222");
  cluster.mutable_members(3)->set_says_no_targets(true);
  EXPECT_THAT(
      ServersText(cluster, Colours::kOff),
      HasSubstr("TARGET  DECIDES     OWNERS SO FAR  MOVED TO  NOTE\n"
                "orders  headgate-0              3            not in the file of headgate-2\n"));
  offer(2, "3333333322222222");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              HasSubstr("CONFIGURED DIFFERENTLY: headgate-0, headgate-1 11111111; "
                        "headgate-2 33333333\n"));
  cluster.mutable_members(2)->mutable_offers(0)->set_configuration("1111111122222222");
  v1::MemberTarget& first = *cluster.mutable_members(0)->mutable_offers(0);
  first.set_measured(v1::MemberTarget::MEASURED_NOTHING);
  first.set_why("connection\x1b refused");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              AllOf(HasSubstr("headgate-0 CANNOT MEASURE it: connection"), Not(HasSubstr("\x1b"))));
  first.set_keeps_no_state(true);
  first.set_why("permission denied");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              AllOf(HasSubstr("  CANNOT KEEP states: permission denied\n"),
                    HasSubstr("headgate-0 CANNOT KEEP its state\n")));
  EXPECT_THAT(ServersCsv(cluster).Csv(), HasSubstr(",CANNOT KEEP states: permission denied\r\n"));
}

TEST(ServersText, SaysWhatIsWorthKnowingOfTheWayToTheStore) {
  v1::ClusterStatus cluster = TwoServers();
  cluster.set_store_note("it is PgBouncer\x1b[31m");
  EXPECT_THAT(ServersText(cluster, Colours::kOff),
              AllOf(HasSubstr("the store: it is PgBouncer"), Not(HasSubstr("\x1b"))));
}

TEST(ServersCsv, HasARowForEachServerAndTarget) {
  EXPECT_EQ(
      ServersCsv(TwoServers()).Csv(),
      "kind,name,state,owner,targets,seen_ago_s,address,version,generation,moved_to,error,note\r\n"
      "server,headgate-0,here,,1,0.2,10.0.0.1:8081,,,,,\r\n"
      "server,headgate-1,here,,0,0.2,10.0.0.1:8081,,,,,\r\n"
      "target,orders,owned,headgate-0,,,,,3,,,\r\n");
}

}  // namespace
}  // namespace headgate::cli
