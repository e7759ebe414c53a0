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
                    HasSubstr("DID NOT ANSWER: deadline"), HasSubstr("orders  NOBODY"),
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

TEST(ServersCsv, HasARowForEachServerAndTarget) {
  EXPECT_EQ(ServersCsv(TwoServers()).Csv(),
            "kind,name,state,owner,targets,seen_ago_s,address,version,generation,moved_to,error\r\n"
            "server,headgate-0,here,,1,0.2,10.0.0.1:8081,,,,\r\n"
            "server,headgate-1,here,,0,0.2,10.0.0.1:8081,,,,\r\n"
            "target,orders,owned,headgate-0,,,,,3,,\r\n");
}

}  // namespace
}  // namespace headgate::cli
