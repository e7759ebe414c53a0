// What a good file means, and that no file, however odd, does harm.

#include "server/govern/config/load.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config Good(const std::string& yaml) {
  LoadResult result = Parse(yaml, "f.yaml");
  EXPECT_EQ(result.Errors(), std::vector<std::string>());
  return result.config.value_or(Config());
}

std::vector<std::string> Errors(const std::string& yaml) { return Parse(yaml, "f.yaml").Errors(); }

absl::Duration Ttl(const std::string& duration) {
  return Good("engine: {permit_ttl: " + duration + "}").engine.permit_ttl;
}

engine::BudgetSpec Budget(const std::string& fields) {
  const Config config = Good(
      "targets: [{name: t, capacity: 1000, primary: {dsn_env: D}, batch_work: {roles: [r]}}]\n"
      "budgets: [{name: b, " +
      fields + "}]");
  return config.policy.budgets.empty() ? engine::BudgetSpec() : config.policy.budgets[0];
}

TEST(Load, AnEmptyMappingIsTheDefaults) {
  for (const LoadResult& loaded :
       {Parse("{}", "f.yaml"), Parse("{}  # nothing", "f.yaml"), Parse("", "")}) {
    ASSERT_TRUE(loaded.config.has_value());
    const Config& config = *loaded.config;
    EXPECT_EQ(config.server, ServerSettings());
    EXPECT_EQ(config.engine.max_permits, engine::EngineOptions().max_permits);
    EXPECT_TRUE(config.targets.empty());
    EXPECT_TRUE(config.policy.rules.empty());
    EXPECT_TRUE(config.policy.budgets.empty());
  }
}

// It was emptied by mistake, or is about to be written.
TEST(Load, AFileWithoutContentIsRefused) {
  for (const char* const yaml : {"", "\n", "# nothing\n", "---\n...\n", "null", "\xef\xbb\xbf"}) {
    EXPECT_THAT(Errors(yaml), ElementsAre(HasSubstr("f.yaml:1:1: has no content"))) << yaml;
  }
}

TEST(Load, SectionsWithoutContentAreTheDefaults) {
  const Config config = Good("server:\nengine:\ntargets:\nhealth_profiles: []\nbudgets:\nrules:\n");
  EXPECT_EQ(config.server, ServerSettings());
}

TEST(Load, ServerAndEngine) {
  const Config config = Good(R"(
server: {grpc_address: "[::]:0", reflection: false, max_message_bytes: 65536, threads: 2}
engine: {permit_ttl: 1m30s, max_permits: 64, max_patterns: 128, bucket_bytes: 1048576,
         max_permit_share: 0.25}
)");
  EXPECT_EQ(config.server.grpc_address, "[::]:0");
  EXPECT_FALSE(config.server.reflection);
  EXPECT_EQ(config.server.max_message_bytes, 65536);
  EXPECT_EQ(config.server.threads, 2);
  EXPECT_EQ(config.engine.permit_ttl, absl::Seconds(90));
  EXPECT_EQ(config.engine.max_permits, 64U);
  EXPECT_EQ(config.engine.max_patterns, 128U);
  EXPECT_EQ(config.engine.bucket_bytes, 1048576U);
  EXPECT_EQ(config.engine.max_permit_share, 0.25);
}

TEST(Load, TheLineAndItsDefaults) {
  const LineSettings line =
      Good("server: {line: {max_waiting: 100, max_waiting_share: 0.25, priority_floor: 0.1}}")
          .server.line;
  EXPECT_EQ(line.max_waiting, 100);
  EXPECT_EQ(line.max_waiting_share, 0.25);
  EXPECT_EQ(line.priority_floor, 0.1);
  const LineSettings unsaid = Good("server: {line: {}}").server.line;
  EXPECT_EQ(unsaid.max_waiting, 65536);
  EXPECT_EQ(unsaid.max_waiting_share, 0.5);
  EXPECT_EQ(unsaid.priority_floor, 0.05);
  const LineSettings least =
      Good("server: {line: {max_waiting: 0, max_waiting_share: 0.001, priority_floor: 0}}")
          .server.line;
  EXPECT_EQ(least.max_waiting, 0);
  EXPECT_EQ(least.max_waiting_share, 0.001);
  EXPECT_EQ(least.priority_floor, 0);
  const LineSettings most =
      Good("server: {line: {max_waiting: 1048576, max_waiting_share: 1, priority_floor: 0.25}}")
          .server.line;
  EXPECT_EQ(most.max_waiting, 1048576);
  EXPECT_EQ(most.max_waiting_share, 1);
  EXPECT_EQ(most.priority_floor, 0.25);
}

TEST(Load, Durations) {
  EXPECT_EQ(Ttl("250ms"), absl::Milliseconds(250));
  EXPECT_EQ(Ttl("1h30m"), absl::Minutes(90));
  EXPECT_EQ(Ttl("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(Ttl("1m0.000000001s"), absl::Minutes(1) + absl::Nanoseconds(1));
  EXPECT_EQ(Ttl("'2s'"), absl::Seconds(2));
}

TEST(Load, TargetWithEverything) {
  const Config config = Good(R"(
targets:
  - name: orders
    capacity: 500.5
    default_health: p
    primary: {dsn: "host=h user=u", password_file: /p}
    standbys:
      - name: a
      - name: b
        application_name: walreceiver
        connection: {dsn_file: /dsn}
        set_aside_until: 2027-01-31T18:00:00.5+01:00
        set_aside_reason: broken disk
    polling: {interval: 100ms, timeout: 200ms, idle_after: 5s, idle_interval: 20s}
    batch_work: {roles: [r], application_names: [a*]}
health_profiles:
  - {name: p, signals: [{name: lock_waiters}]}
)");
  ASSERT_EQ(config.targets.size(), 1U);
  const TargetSettings& target = config.targets[0];
  EXPECT_EQ(target.name, "orders");
  EXPECT_EQ(target.primary->dsn, "host=h user=u");
  EXPECT_EQ(target.primary->password_file, "/p");
  ASSERT_EQ(target.standbys.size(), 2U);
  EXPECT_EQ(target.standbys[0].application_name, "a");
  EXPECT_FALSE(target.standbys[0].has_connection);
  EXPECT_EQ(target.standby_sources[0], std::nullopt);
  EXPECT_EQ(target.standbys[1].application_name, "walreceiver");
  EXPECT_TRUE(target.standbys[1].has_connection);
  EXPECT_EQ(target.standby_sources[1]->dsn_file, "/dsn");
  EXPECT_EQ(target.standbys[1].set_aside_until,
            absl::FromCivil(absl::CivilSecond(2027, 1, 31, 17, 0, 0), absl::UTCTimeZone()) +
                absl::Milliseconds(500));
  EXPECT_EQ(target.standbys[1].set_aside_reason, "broken disk");
  EXPECT_EQ(target.polling.interval, absl::Milliseconds(100));
  EXPECT_EQ(target.polling.timeout, absl::Milliseconds(200));
  EXPECT_EQ(target.polling.idle_after, absl::Seconds(5));
  EXPECT_EQ(target.polling.idle_interval, absl::Seconds(20));
  EXPECT_THAT(target.batch_work.roles, ElementsAre("r"));
  EXPECT_THAT(target.batch_work.application_names, ElementsAre("a*"));
  EXPECT_EQ(config.policy.targets[0].capacity, 500.5);
  EXPECT_EQ(config.policy.targets[0].default_health, "p");
}

TEST(Load, StandbysAreMatchedByWhatIsSaidOfThem) {
  const Config config = Good(R"(
targets:
  - name: orders
    primary: {dsn: "host=h user=u"}
    standbys:
      - {name: a, slot: east}
      - {name: b, client_address: 10.0.0.2}
      - {name: c, application_name: 15/main, slot: west}
      - {name: d, cascading: true, connection: {dsn_env: D}}
)");
  const std::vector<health::StandbySpec>& standbys = config.targets[0].standbys;
  EXPECT_EQ(standbys[0].slot, "east");
  EXPECT_EQ(standbys[0].application_name, "");  // any
  EXPECT_EQ(standbys[1].client_address, "10.0.0.2");
  EXPECT_EQ(standbys[1].application_name, "");
  EXPECT_EQ(standbys[2].application_name, "15/main");
  EXPECT_EQ(standbys[2].slot, "west");
  EXPECT_FALSE(standbys[2].is_cascading);
  EXPECT_TRUE(standbys[3].is_cascading);
}

TEST(Load, SlowPollingIsNotSpedUpByTheDefaultOfIdleInterval) {
  const Config config = Good("targets: [{name: t, polling: {interval: 30s}}]");
  EXPECT_EQ(config.targets[0].polling.idle_interval, absl::Seconds(30));
}

TEST(Load, SignalsHaveTheCatalogsDefaults) {
  const Config config = Good(R"(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
      - {name: autovacuum_backlog, hard: 20}
      - {name: mine, sql: "SELECT 1", server: STANDBYS, soft: -1, hard: 0.5, every: 2s}
)");
  const health::ProfileSpec& profile = config.profiles[0];
  EXPECT_EQ(profile.signals[0].soft, 3);
  EXPECT_EQ(profile.signals[0].hard, 10);
  EXPECT_EQ(profile.signals[1].soft, 2);
  EXPECT_EQ(profile.signals[1].hard, 20);
  EXPECT_EQ(profile.signals[1].every, absl::Seconds(30));
  EXPECT_EQ(profile.signals[2].scope, health::Scope::kStandby);
  EXPECT_EQ(profile.signals[2].sql, "SELECT 1");
  EXPECT_EQ(profile.signals[2].soft, -1);
  EXPECT_EQ(profile.signals[2].every, absl::Seconds(2));
  EXPECT_EQ(profile.min_speed, 0.05);
  EXPECT_TRUE(profile.on_stale.shut);
}

TEST(Load, OnStaleIsAWordASpeedOrAMapping) {
  const auto on_stale = [](const std::string& value) {
    return Good("health_profiles: [{name: p, signals: [{name: xmin_age}], on_stale: " + value +
                "}]")
        .profiles[0]
        .on_stale;
  };
  EXPECT_TRUE(on_stale("DENY").shut);
  EXPECT_TRUE(on_stale("{deny: true}").shut);
  EXPECT_FALSE(on_stale("ALLOW").shut);
  EXPECT_EQ(on_stale("ALLOW").speed, 1);
  EXPECT_EQ(on_stale("{allow: true}").speed, 1);
  EXPECT_EQ(on_stale("0.25").speed, 0.25);
  EXPECT_FALSE(on_stale("{speed: 0.25}").shut);
}

TEST(Load, PolicyListsTheInstancesOnAllMeasuredTargetsOnce) {
  const Config config = Good(R"(
targets:
  - {name: t, primary: {dsn_env: D}, standbys: [{name: a}, {name: b, connection: {dsn_env: B}}]}
  - {name: u, primary: {dsn_env: D}, standbys: [{name: b}, {name: c}]}
  - {name: unmeasured}
health_profiles:
  - name: p
    signals: [{name: lock_waiters}, {name: replication_lag_seconds}, {name: standby_lag_seconds}]
)");
  EXPECT_EQ(config.policy.profiles[0].name, config.profiles[0].name);
  EXPECT_THAT(config.policy.profiles[0].signals,
              testing::UnorderedElementsAre(
                  "lock_waiters", "replication_lag_seconds on a", "replication_lag_seconds on b",
                  "replication_lag_seconds on c", "standby_lag_seconds on b"));
}

TEST(Load, PolicyKnowsTheThresholdsOfEveryInstance) {
  const Config config = Good(R"(
targets: [{name: t, primary: {dsn_env: D}, standbys: [{name: a}, {name: b}]}]
health_profiles:
  - name: p
    signals: [{name: lock_waiters}, {name: replication_lag_seconds, soft: 2, hard: 7}]
)");
  const engine::HealthProfileSpec& profile = config.policy.profiles[0];
  ASSERT_EQ(profile.thresholds.size(), profile.signals.size());
  for (size_t i = 0; i < profile.signals.size(); ++i) {
    const bool lag = profile.signals[i] != "lock_waiters";
    EXPECT_EQ(profile.thresholds[i].soft, lag ? 2 : 3) << profile.signals[i];
    EXPECT_EQ(profile.thresholds[i].hard, lag ? 7 : 10) << profile.signals[i];
  }
}

TEST(Load, RatesAndBurstsInEveryForm) {
  const auto units = [](const std::string& rate) {
    return std::get<engine::UnitsPerSecond>(*Budget("rate: " + rate + ", burst: 5000").rate).value;
  };
  EXPECT_EQ(units("250"), 250);
  EXPECT_EQ(units("0.5"), 0.5);
  EXPECT_EQ(units("1e3"), 1000);
  EXPECT_EQ(units("{units_per_second: 7}"), 7);
  const auto percent = [](const std::string& rate) {
    return std::get<engine::ServerShare>(*Budget("rate: " + rate + ", burst: 5s").rate).percent;
  };
  EXPECT_EQ(percent("20%"), 20);
  EXPECT_EQ(percent("'2.5%'"), 2.5);
  EXPECT_EQ(percent("{server_share: 30}"), 30);
  EXPECT_EQ(std::get<double>(*Budget("rate: 5, burst: 50").burst), 50);
  EXPECT_EQ(std::get<double>(*Budget("rate: 5, burst: {units: 50}").burst), 50);
  EXPECT_EQ(std::get<absl::Duration>(*Budget("rate: 5, burst: 1m").burst), absl::Minutes(1));
  EXPECT_EQ(std::get<absl::Duration>(*Budget("rate: 5, burst: {duration: 2s}").burst),
            absl::Seconds(2));
  EXPECT_FALSE(Budget("max_cost: 5").rate.has_value());
}

TEST(Load, CallersSharePatternsOnDemand) {
  const std::string callers = "callers: [{name: a, anybody: true, identities: [etl]}]";
  EXPECT_FALSE(Good("access: {" + callers + "}").policy.share_patterns);
  EXPECT_TRUE(Good("access: {share_patterns: true, " + callers + "}").policy.share_patterns);
}

TEST(Load, BudgetWithEverything) {
  const engine::BudgetSpec budget = Budget(
      "max_cost: 50, max_concurrency: 3, mode: WARN, split: {tag: tenant}, default_cost: 2, "
      "max_buckets: 100");
  EXPECT_EQ(budget.max_cost, 50);
  EXPECT_EQ(budget.max_concurrency, 3);
  EXPECT_EQ(budget.mode, engine::Mode::kWarn);
  EXPECT_EQ(std::get<engine::SplitByTag>(budget.split).key, "tenant");
  EXPECT_EQ(budget.default_cost, 2);
  EXPECT_EQ(budget.max_buckets, 100U);
  EXPECT_EQ(std::get<engine::SplitByDepth>(Budget("split: {depth: 2}").split).depth, 2);
  EXPECT_EQ(budget.unit, std::nullopt);
  EXPECT_EQ(budget.max_overrun, 10);
  EXPECT_EQ(budget.max_debt, absl::Minutes(1));
  EXPECT_EQ(Budget("max_debt: 1h30m").max_debt, absl::Minutes(90));
  const engine::BudgetSpec busy = Budget("unit: BUSY_TIME, max_overrun: 2.5");
  EXPECT_EQ(busy.unit, engine::BudgetUnit::kBusyTime);
  EXPECT_EQ(busy.max_overrun, 2.5);
  EXPECT_EQ(Budget("unit: COST").unit, engine::BudgetUnit::kCost);
  EXPECT_EQ(Budget("mode: DISABLED").mode, engine::Mode::kDisabled);
  EXPECT_EQ(Budget("mode: ENFORCE").mode, engine::Mode::kEnforce);
}

TEST(Load, AutoBudgetBringsWhatItsControllerNeeds) {
  const Config config = Good(R"(
targets: [{name: t, primary: {dsn_env: D}, batch_work: {roles: [r]}}]
budgets:
  - {name: a, rate: auto}
  - name: b
    rate: {auto: true}
    burst: 2
    default_cost: 0.5
    max_concurrency: 7
    auto_tuning: {tolerance: 0.1, latency_tolerance: 0.3, tail_tolerance: 0.5, weight: 3, max_rate: 3, cores: 16}
  - {name: off for now, rate: auto, mode: DISABLED}
)");
  const engine::BudgetSpec& plain = config.policy.budgets[0];
  EXPECT_TRUE(std::holds_alternative<engine::AutoRate>(*plain.rate));
  EXPECT_EQ(std::get<double>(*plain.burst), 0.1);
  EXPECT_EQ(plain.default_cost, 0.1);
  EXPECT_EQ(plain.max_concurrency, 10'000);
  const engine::BudgetSpec& given = config.policy.budgets[1];
  EXPECT_EQ(std::get<double>(*given.burst), 2);
  EXPECT_EQ(given.default_cost, 0.5);
  EXPECT_EQ(given.max_concurrency, 7);
  ASSERT_EQ(config.auto_budgets.size(), 2U);
  EXPECT_EQ(config.auto_budgets[0].budget, "a");
  EXPECT_EQ(config.auto_budgets[0].tolerance, 0.05);
  EXPECT_EQ(config.auto_budgets[0].latency_tolerance, 0.1);
  EXPECT_EQ(config.auto_budgets[0].tail_tolerance, 0.25);
  EXPECT_EQ(config.auto_budgets[0].weight, 1);
  EXPECT_EQ(config.auto_budgets[0].max_rate, std::nullopt);
  EXPECT_EQ(config.auto_budgets[1].latency_tolerance, 0.3);
  EXPECT_EQ(config.auto_budgets[1].tail_tolerance, 0.5);
  EXPECT_EQ(config.auto_budgets[1].weight, 3);
  EXPECT_EQ(config.auto_budgets[1].tolerance, 0.1);
  EXPECT_EQ(config.auto_budgets[1].max_rate, 3);
  EXPECT_EQ(config.auto_budgets[1].cores, 16);
}

TEST(Load, AutoBudgetNeedsOnlyTheTargetsWhereItIsCharged) {
  Good(R"(
targets:
  - {name: t, primary: {dsn_env: D}, batch_work: {roles: [r]}}
  - {name: unmeasured}
budgets: [{name: a, rate: auto}]
rules: [{name: r, match: {target: t}, charge: [a]}]
)");
}

TEST(Load, RuleWithEverything) {
  const Config config = Good(R"(
budgets: [{name: b}, {name: c, mode: DISABLED}]
targets: [{name: t}]
rules:
  - name: r
    match:
      identity: a:etl
      segment: a
      tags: {z: 1.10, a: no, empty: ""}
      remote_address: 10.0.0.0/8
      target: t
      schedule:
        time_zone: Europe/Berlin
        windows:
          - {days: [mon, sun], from: 22:00, to: 06:00}
          - {from: "08:00", to: "00:00"}
    charge: [b, c]
    expires_at: 2027-01-31T18:00:00Z
)");
  const engine::RuleSpec& rule = config.policy.rules[0];
  EXPECT_EQ(rule.match.identity, "a:etl");
  EXPECT_EQ(rule.match.segment, "a");
  EXPECT_THAT(rule.match.tags,
              ElementsAre(std::pair("a", "no"), std::pair("empty", ""), std::pair("z", "1.10")));
  EXPECT_EQ(rule.match.remote_address, "10.0.0.0/8");
  EXPECT_EQ(rule.match.target, "t");
  EXPECT_EQ(rule.match.schedule->time_zone, "Europe/Berlin");
  const engine::ScheduleWindow& nights = rule.match.schedule->windows[0];
  EXPECT_EQ(nights.days, 0b1000001);
  EXPECT_EQ(nights.start_minute, 22 * 60);
  EXPECT_EQ(nights.end_minute, 6 * 60);
  const engine::ScheduleWindow& days = rule.match.schedule->windows[1];
  EXPECT_EQ(days.days, 0b1111111);
  EXPECT_EQ(days.end_minute, 24 * 60);
  EXPECT_THAT(std::get<engine::ChargeAction>(rule.action).budgets, ElementsAre("b", "c"));
  EXPECT_EQ(rule.expires_at,
            absl::FromCivil(absl::CivilSecond(2027, 1, 31, 18, 0, 0), absl::UTCTimeZone()));
}

TEST(Load, EveryAction) {
  const Config config = Good(R"(
targets: [{name: t, primary: {dsn_env: D}}]
health_profiles: [{name: p, signals: [{name: xmin_age}]}]
rules:
  - {name: a, exempt: true}
  - {name: b, deny: true}
  - {name: c, reject_ratio: 0.25}
  - {name: d, health: p}
  - {name: e, priority: -3}
  - {name: g, weight: 2.5}
)");
  const auto& rules = config.policy.rules;
  EXPECT_TRUE(std::holds_alternative<engine::ExemptAction>(rules[0].action));
  EXPECT_TRUE(std::holds_alternative<engine::DenyAction>(rules[1].action));
  EXPECT_EQ(std::get<engine::RejectAction>(rules[2].action).ratio, 0.25);
  EXPECT_EQ(std::get<engine::HealthAction>(rules[3].action).profile, "p");
  EXPECT_EQ(std::get<engine::PriorityAction>(rules[4].action).priority, -3);
  EXPECT_EQ(std::get<engine::WeightAction>(rules[5].action).weight, 2.5);
  EXPECT_EQ(rules[4].expires_at, absl::InfiniteFuture());
}

TEST(Load, ExampleIsRight) {
  const LoadResult result = Load(HEADGATE_EXAMPLE);
  ASSERT_EQ(result.Errors(), std::vector<std::string>());
  EXPECT_EQ(result.config->targets.size(), 2U);
  EXPECT_EQ(result.config->auto_budgets.size(), 1U);
  engine::Engine engine(result.config->engine);
  EXPECT_EQ(engine.Install(result.config->policy, {}), absl::OkStatus());
}

TEST(Load, WindowsLineEndsAreFine) {
  EXPECT_EQ(Good("server:\r\n  threads: 2\r\n").server.threads, 2);
}

TEST(Load, TagsOfMoreThanTwoHundredFiftySixBytesAreTold) {
  const std::string tag(257, 'a');
  EXPECT_THAT(Errors("budgets: [{name: b, split: {tag: " + tag + "}}]"),
              ElementsAre("f.yaml:1:28: budget 'b': split tag must have 1 to 256 bytes"));
  EXPECT_THAT(Errors("rules: [{name: r, match: {tags: {k: " + tag + "}}, deny: true}]"),
              ElementsAre("f.yaml:1:33: rule 'r': tag 'k' is longer than 256 bytes"));
}

TEST(Load, UnknownSignalThatResemblesNoneIsToldWithAllThereAre) {
  const std::vector<std::string> errors =
      Errors("health_profiles: [{name: p, signals: [{name: zzz}]}]");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0],
              HasSubstr("f.yaml:1:46: no built-in signal is called 'zzz', and a signal of "
                        "your own needs sql; known: "));
  for (const health::SignalInfo& info : health::AllSignals()) {
    EXPECT_THAT(errors[0], HasSubstr("'" + std::string(info.name) + "'"));
  }
}

TEST(Load, MissingFileIsToldWithoutAPlace) {
  EXPECT_THAT(Load("/nonexistent/f.yaml").Errors(),
              ElementsAre("/nonexistent/f.yaml: cannot be read: No such file or directory"));
  EXPECT_THAT(Load("/dev").Errors(), ElementsAre("/dev: is not a regular file"));
}

TEST(Load, StatusHasEveryError) {
  EXPECT_EQ(Parse("a: 1\nb: 2", "f.yaml").status().message(),
            absl::StrJoin(Errors("a: 1\nb: 2"), "\n"));
  EXPECT_EQ(Parse("{}", "f.yaml").status(), absl::OkStatus());
}

TEST(Load, BytesThatAreNoTextAreTold) {
  EXPECT_THAT(Errors("server:\n  a\xff: 1"),
              ElementsAre("f.yaml:2:4: not valid UTF-8; save the file as UTF-8"));
  EXPECT_THAT(Errors("\xff\xfe{\0}\0"), ElementsAre(HasSubstr("1:1: not valid UTF-8")));
  EXPECT_THAT(Errors(std::string("a: b\0c", 6)),
              ElementsAre("f.yaml:1:5: a control character; YAML files are text"));
  // To the parser this byte is the end of the file.
  EXPECT_THAT(Errors("server: {}\n\x04\nbudgts: []"), ElementsAre(HasSubstr("2:1: a control")));
}

TEST(Load, SecretsAreNotRepeated) {
  for (const char* const yaml : {
           "targets: [{name: t, primary: {dsn: 'host=h password=hunter2'}}]",
           "targets: [{name: t, primary: {dsn: 'postgres://u:hunter2@h/d'}}]",
           "targets: [{name: t, primary: 'host=h password=hunter2'}]",
           "targets: ['host=h password=hunter2']",
           "targets: 'host=h password=hunter2'",
           "targets: [{name: t, primary: {dsn: \"host=h password=hunter2\\a\"}}]",
           "targets: [{name: t, primary: {dsn_env: 'password=hunter2'}}]",
       }) {
    const std::vector<std::string> errors = Errors(yaml);
    EXPECT_FALSE(errors.empty()) << yaml;
    EXPECT_EQ(absl::StrJoin(errors, "\n").find("hunter2"), std::string::npos) << yaml;
  }
}

TEST(Load, DeepNestingIsRefused) {
  EXPECT_THAT(Errors(std::string(100'000, '[')), ElementsAre(HasSubstr("levels deep")));
  std::string deep;
  for (int i = 0; i < 10'000; ++i) absl::StrAppend(&deep, "? ");
  EXPECT_THAT(Errors(deep), ElementsAre(HasSubstr("levels deep")));
}

TEST(Load, HugeFilesAreRefused) {
  EXPECT_THAT(Errors(std::string((16U << 20) + 1, ' ')), ElementsAre("f.yaml: larger than 16 MiB"));
  std::string many = "a: [";
  for (int i = 0; i < 2'200'000; ++i) many += "1,";
  EXPECT_THAT(Errors(many + "]"), ElementsAre(HasSubstr("more than 2097152 values")));
}

TEST(Load, AliasBombIsRefusedAtItsFirstAnchor) {
  EXPECT_THAT(Errors("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
              ElementsAre(HasSubstr("f.yaml:1:4: anchors such as &a are not supported")));
}

TEST(Load, ManyLongWrongNamesTakeNoLonger) {
  std::string yaml;
  for (int i = 0; i < 100'000; ++i) {
    absl::StrAppend(&yaml, "wrong_but_long_enough_to_take_a_while_to_compare_with_all_", i,
                    ": 1\n");
  }
  EXPECT_EQ(Errors(yaml).size(), 201U);
}

TEST(Load, ThousandsOfErrorsAreCountedButNotKept) {
  std::string yaml;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&yaml, "wrong", i, ": 1\n");
  const std::vector<std::string> errors = Errors(yaml);
  ASSERT_EQ(errors.size(), 201U);
  EXPECT_THAT(errors[199], HasSubstr("f.yaml:200:1: unknown key 'wrong199'"));
  EXPECT_EQ(errors[200], "f.yaml: and 800 more");
}

}  // namespace
}  // namespace headgate::config
