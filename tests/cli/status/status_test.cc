// status: what the server knows, for a person and for a program.

#include <string>

#include "client/cli/status/status_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/test_server.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kStart = FakeClock::kStartMonotonicNs;

std::vector<health::TargetSnapshot> OneTarget() {
  health::TargetSnapshot target;
  target.name = "main";
  health::ServerSnapshot primary;
  primary.name = "primary";
  primary.reachable = true;
  primary.sampled_at_ns = kStart;
  primary.poll_time = absl::Milliseconds(4);
  primary.poll_interval = absl::Milliseconds(500);
  health::ServerSnapshot standby;
  standby.name = "standby-2";
  standby.error = "connection refused\x1b[2J";
  target.servers = {primary, standby};
  target.signals = {
      {.instance = "replication_lag_seconds on standby-2",
       .value = std::nullopt,
       .error = "permission denied, ask for pg_monitor",
       .sampled_at_ns = 0},
      {.instance = "active_sessions", .value = 12.5, .error = "", .sampled_at_ns = kStart}};
  health::ProfileSnapshot profile;
  profile.profile = "careful";
  profile.health = {.speed = 0.25,
                    .status = engine::HealthStatus::kHealthy,
                    .gate_shut = false,
                    .pressure = 0.75,
                    .signal = 0,
                    .sampled_at_ns = kStart};
  profile.signal = "active_sessions";
  target.profiles = {profile};
  target.controllers = {{.budget = "busy",
                         .phase = "pause",
                         .rate = 1.5,
                         .foreground_alone = 900,
                         .foreground_with_batch = 880,
                         .effects = {{.kind = "latency",
                                      .effect = 0.08,
                                      .uncertainty = 0.02,
                                      .tolerance = 0.1,
                                      .known = true,
                                      .binds = true}},
                         .explanation = "latency binds"}};
  return {target};
}

class StatusCommand : public ::testing::Test {
 protected:
  StatusCommand() {
    server_.status.targets = OneTarget();
    server_.status.config = {.path = "/etc/headgate.yaml",
                             .version = 3,
                             .loaded_at = absl::FromUnixSeconds(1'767'225'600),
                             .errors = {"headgate.yaml:7:3: unknown key 'rat'"},
                             .refused_at = absl::FromUnixSeconds(1'767'229'200),
                             .pending_restart = {"server.grpc_address"}};
    server_.clock.Advance(absl::Milliseconds(300));
  }

  TestServer server_{OneBudget(RateBudget("rows", 10, 100))};
};

TEST_F(StatusCommand, ShowsConfigurationTargetsAndHealth) {
  const Finished status = server_.Headgate({"status"});
  EXPECT_EQ(status.status, 0);
  EXPECT_EQ(status.err, "");
  EXPECT_THAT(status.out,
              AllOf(StartsWith("headgated 1.2.3 at " + server_.address() +
                               ", started 2026-01-01 00:00:00; times are UTC\n"
                               "configuration /etc/headgate.yaml, version 3, loaded 2026-01-01 "
                               "00:00:00\n"
                               "newest file REFUSED 2026-01-01 01:00:00:\n"
                               "  headgate.yaml:7:3: unknown key 'rat'\n"
                               "takes a restart: server.grpc_address\n"),
                    HasSubstr("\ntarget main\n")));
  EXPECT_THAT(
      status.out,
      AllOf(HasSubstr("  primary    reachable    300ms ago        4ms  500ms\n"),
            HasSubstr("  active_sessions                          12.5  300ms ago\n"),
            HasSubstr("unknown  never      permission denied, ask for pg_monitor\n"),
            HasSubstr("  careful  HEALTHY   0.25      0.75  300ms ago  active_sessions\n"),
            ContainsRegex("  busy  +pause +1.5 s +900 +880 .*\\+8.0 \\+-2.0 %.*latency binds\n")));
}

TEST_F(StatusCommand, EscapesWhatComesFromServers) {
  const Finished status = server_.Headgate({"status"});
  EXPECT_THAT(status.out, AllOf(HasSubstr("connection refused\\x1b[2J"), Not(HasSubstr("\x1b"))));
}

TEST_F(StatusCommand, JsonIsTheResponseOfTheApi) {
  const Finished status = server_.Headgate({"status", "-o", "json"});
  EXPECT_EQ(status.status, 0);
  auto fields = ParseJson(status.out);
  EXPECT_EQ(At(fields["config"], "version").string_value(), "3");
  const auto& target = fields["targets"].list_value().values(0);
  const auto& servers = At(target, "servers").list_value();
  // Present although they are zero; absent where there is none.
  EXPECT_TRUE(At(servers.values(1), "reachable").has_bool_value());
  EXPECT_FALSE(At(servers.values(1), "sample_age").has_string_value());
  EXPECT_FALSE(At(At(target, "signals").list_value().values(0), "value").has_number_value());
}

TEST_F(StatusCommand, CsvHasARowForEachThing) {
  const Finished status = server_.Headgate({"status", "-o", "csv"});
  EXPECT_EQ(status.status, 0);
  EXPECT_THAT(status.out,
              AllOf(StartsWith("kind,target,name,state,value,speed,pressure,age_s,detail\r\n"),
                    HasSubstr("\r\npostgres,main,primary,reachable,,,,0.3,\r\n"),
                    HasSubstr("\r\nhealth,main,careful,HEALTHY,,0.25,0.75,0.3,active_sessions\r\n"),
                    HasSubstr("\r\nsignal,main,replication_lag_seconds on standby-2,,,,,,"
                              "\"permission denied, ask for pg_monitor\"\r\n")));
}

TEST_F(StatusCommand, SaysWhatKeepsTheThrottleLogFromBeingComplete) {
  EXPECT_THAT(server_.Headgate({"status"}).out, Not(HasSubstr("throttle log")));
  server_.status.throttle_log = {.store = "sqlite",
                                 .status = absl::ResourceExhaustedError("disk is full\x1b[2J"),
                                 .rows_written = 1200,
                                 .rows_buffered = 34,
                                 .dropped_checks = 56,
                                 .folded_checks = 78,
                                 .bytes = 2'500'000,
                                 .oldest = absl::FromUnixSeconds(1'767'225'600),
                                 .set_aside = "/state/log.db.corrupt-1"};
  EXPECT_THAT(server_.Headgate({"status"}).out,
              HasSubstr("throttle log in sqlite, 2.5 MB since 2026-01-01 00:00:00; counts "
                        "written 1200, waiting 34\n"
                        "throttle log CANNOT BE WRITTEN: disk is full\\x1b[2J\n"
                        "throttle log was damaged, and begun anew; the old one is "
                        "/state/log.db.corrupt-1\n"
                        "missing from the log: 56 Checks\n"
                        "counted under a level above their identity: 78 Checks\n"));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              AllOf(HasSubstr("\r\nthrottle_log,,sqlite,cannot be written,2500000,,,,disk is full"),
                    HasSubstr("\r\nthrottle_log_dropped_checks,,,,56,,,,\r\n")));
}

TEST_F(StatusCommand, SaysWhatIsWorthKnowingOfConnections) {
  std::vector<health::TargetSnapshot> targets = server_.status.targets.Get();
  targets[0].servers[0].note = "it leads through a pooler\x1b[2J";
  targets[0].servers[1].note = "so does this";
  server_.status.targets = targets;
  server_.status.throttle_log = {
      .store = "postgres", .status = absl::OkStatus(), .note = "and this"};
  const std::string text = server_.Headgate({"status"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("4ms  500ms  it leads through a pooler\\x1b[2J\n"),
                          HasSubstr("connection refused\\x1b[2J; so does this\n"),
                          HasSubstr("\nthrottle log: and this\n")));
  const std::string csv = server_.Headgate({"status", "-o", "csv"}).out;
  EXPECT_THAT(csv, AllOf(HasSubstr("\r\npostgres,main,primary,reachable,,,,0.3,it leads through"),
                         HasSubstr("\r\nthrottle_log,,postgres,written,0,,,,and this\r\n")));
  EXPECT_THAT(server_.Headgate({"status", "-o", "json"}).out, HasSubstr("so does this"));
}

TEST_F(StatusCommand, SaysWhatKeepsOverridesFromBeingMade) {
  EXPECT_THAT(server_.Headgate({"status"}).out, Not(HasSubstr("overrides")));
  server_.status.overrides = {.is_kept = true, .in_force = 2};
  const std::string well = server_.Headgate({"status"}).out;
  EXPECT_THAT(well, HasSubstr("overrides in force: 2\n"));
  EXPECT_THAT(well, Not(HasSubstr("CANNOT")));
  server_.status.overrides = {.is_kept = true,
                              .in_force = 2,
                              .status = absl::ResourceExhaustedError("disk is full\x1b[2J")};
  EXPECT_THAT(server_.Headgate({"status"}).out,
              HasSubstr("overrides in force: 2\n"
                        "overrides CANNOT BE WRITTEN: disk is full\\x1b[2J\n"));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              HasSubstr("\r\noverrides,,,cannot be written,2,,,,disk is full"));
}

TEST_F(StatusCommand, SaysWhatARestartWouldBringBack) {
  EXPECT_THAT(server_.Headgate({"status"}).out, Not(HasSubstr("kept for a restart")));
  const absl::Time now = server_.clock.Read().wall();
  snapshot::SnapshotView snapshot{.path = "/state/engine.snapshot",
                                  .as_of = now - absl::Milliseconds(300),
                                  .bytes = 1'200'000,
                                  .restored_from = now - absl::Seconds(5),
                                  .restored_permits = 12,
                                  .restored_buckets = 40};
  server_.status.snapshot = snapshot;
  EXPECT_THAT(
      server_.Headgate({"status"}).out,
      AllOf(HasSubstr("kept for a restart in /state/engine.snapshot, 1.2 MB, as of 300ms ago\n"),
            HasSubstr("restored at start: permits 12, buckets that owe 40, as of 2025-12-31"),
            Not(HasSubstr("was REFUSED at start")), Not(HasSubstr("would lose"))));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              AllOf(HasSubstr("\r\nsnapshot,,/state/engine.snapshot,written,1200000,,,0.3,\r\n"),
                    HasSubstr("\r\nsnapshot_restored,,,restored,40,,,,2025-12-31T23:59:55"),
                    Not(HasSubstr("snapshot_refused"))));

  snapshot.status = absl::ResourceExhaustedError("disk is full\x1b[2J");
  snapshot.failed_writes = 7;
  snapshot.restored_from = absl::InfinitePast();
  snapshot.refused = absl::DataLossError("is damaged");
  snapshot.set_aside = "/state/engine.snapshot.refused";
  server_.status.snapshot = snapshot;
  EXPECT_THAT(server_.Headgate({"status"}).out,
              AllOf(HasSubstr("a restart would lose what is owed: disk is full\\x1b[2J\n"),
                    HasSubstr("what was kept was REFUSED at start: it is damaged; it is now "
                              "/state/engine.snapshot.refused\n"),
                    Not(HasSubstr("restored at start"))));
  EXPECT_THAT(
      server_.Headgate({"status", "-o", "csv"}).out,
      AllOf(HasSubstr("\r\nsnapshot,,/state/engine.snapshot,cannot be written,1200000,,,0.3,"
                      "disk is full"),
            HasSubstr("\r\nsnapshot_restored,,,nothing restored,"),
            HasSubstr("\r\nsnapshot_refused,,/state/engine.snapshot.refused,,,,,,is damaged")));
  const Finished json = server_.Headgate({"status", "-o", "json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("failed_writes"), HasSubstr("set_aside")));
}

TEST_F(StatusCommand, SaysWhyNewerTokensAreNotInForce) {
  EXPECT_THAT(server_.Headgate({"status", "-o", "json"}).out, Not(HasSubstr("token_file")));
  server_.status.access = {.is_on = true, .token_file = "/etc/tokens", .tokens = 2};
  EXPECT_THAT(server_.Headgate({"status"}).out, Not(HasSubstr("tokens")));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              HasSubstr("\r\ntokens,,/etc/tokens,in force,2,,,,\r\n"));
  server_.status.access = {
      .is_on = true,
      .token_file = "/etc/tokens",
      .tokens = 2,
      .status = absl::InvalidArgumentError("/etc/tokens:3: no digest\x1b[2J\nsecond")};
  EXPECT_THAT(server_.Headgate({"status"}).out,
              HasSubstr("newest tokens REFUSED: /etc/tokens:3: no digest\\x1b[2J\n"
                        "newest tokens REFUSED: second\n"));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              HasSubstr("\r\ntokens,,/etc/tokens,newest refused,2,,,,"));
}

v1::GetStatusResponse WithPermits() {
  v1::GetStatusResponse status;
  v1::PermitsStatus& permits = *status.mutable_permits();
  permits.set_capacity(32768);
  permits.set_most_for_one(7022);
  const auto add = [&](const char* name, bool is_caller, int64_t held, int64_t turned_away) {
    v1::PermitHolder& holder = *permits.add_holders();
    holder.set_name(name);
    holder.set_is_caller(is_caller);
    holder.set_permits(held);
    holder.set_turned_away(turned_away);
  };
  add("backfill", true, 16384, 120);
  add("et\x1bl", false, 3, 0);
  add("", false, 1, 2);
  return status;
}

TEST(StatusPermits, AreToldByHolderWithWhoWasTurnedAway) {
  v1::GetStatusResponse status = WithPermits();
  EXPECT_THAT(StatusText(status, "a:1", absl::UTCTimeZone(), Colours::kOff),
              AllOf(HasSubstr("\nmost permits: caller backfill 16384, et\\x1bl 3, many others "
                              "together 1; another could come to 7022 of 32768\n"),
                    Not(HasSubstr("turned away")), Not(HasSubstr("without a permit"))));
  status.mutable_permits()->set_turned_away(122);
  status.mutable_permits()->set_without_permit(7);
  EXPECT_THAT(StatusText(status, "a:1", absl::UTCTimeZone(), Colours::kOff),
              AllOf(HasSubstr("\nturned away for want of a permit: 122 Checks, of caller backfill "
                              "120, many others together 2\n"),
                    HasSubstr("\ncharged without a permit: 7 Checks, whose holders had their "
                              "share\n")));
}

TEST(StatusPermits, AreRowsOfTheCsv) {
  EXPECT_THAT(StatusCsv(WithPermits()).Csv(),
              AllOf(HasSubstr("permits_capacity,,,,32768,,,,"),
                    HasSubstr("permit_holder,,backfill,caller,16384,,,,turned away 120")));
}

TEST_F(StatusCommand, UnknownTargetIsTwo) {
  const Finished status = server_.Headgate({"status", "--target", "nowhere"});
  EXPECT_EQ(status.status, 2);
  EXPECT_EQ(status.out, "");
  EXPECT_THAT(status.err, MatchesRegex("headgate: [^\n]*nowhere[^\n]*\n"));
}

TEST(StatusUnreachable, IsThree) {
  for (const char* command : {"status", "top", "explain"}) {
    std::vector<std::string> words = {command, "--address", "127.0.0.1:1"};
    if (words[0] == "explain") words.push_back("job");
    const Finished finished = RunHeadgate(words);
    EXPECT_EQ(finished.status, 3) << command;
    EXPECT_THAT(finished.err, StartsWith("headgate: cannot reach 127.0.0.1:1: ")) << command;
  }
}

}  // namespace
}  // namespace headgate::cli
