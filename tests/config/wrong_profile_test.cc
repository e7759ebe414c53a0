// Health profiles that make no sense.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongProfiles[] = {
    {"ProfileWithoutSignals", R"y(
health_profiles:
  - name: p
)y",
     R"e(
f.yaml:2:5: a health profile needs at least one signal
)e"},
    {"ProfileBounds", R"y(
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
    min_speed: 1.5
    recovery: 2h
    stale_after: 1ms
    on_stale: 2
)y",
     R"e(
f.yaml:4:16: min_speed must be 0 to 1; it is 1.5
f.yaml:5:15: recovery must be 0 to 1h; it is 2h
f.yaml:6:18: stale_after must be 100ms to 1h; it is 1ms
f.yaml:7:15: speed must be 0 to 1; it is 2
)e"},
    {"StaleBeforeNextSample", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    polling: {interval: 10s}
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
    stale_after: 10s
)y",
     R"e(
f.yaml:8:18: stale_after 10s is not longer than the interval at which target 't' is measured, 10s: every sample would be stale
)e"},
    {"UnknownSignal", R"y(
health_profiles:
  - name: p
    signals:
      - name: replication_lag_second
)y",
     R"e(
f.yaml:4:15: no built-in signal is called 'replication_lag_second', and a signal of your own needs sql; did you mean 'replication_lag_seconds'?
)e"},
    {"SignalTwice", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
      - name: lock_waiters
)y",
     R"e(
f.yaml:5:15: signal 'lock_waiters' is defined twice, first in line 4
)e"},
    {"SoftAboveHard", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        soft: 5
        hard: 5
)y",
     R"e(
f.yaml:5:15: soft must be below hard; soft is 5, hard is 5
)e"},
    {"SoftAboveDefaultHard", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        soft: 20
)y",
     R"e(
f.yaml:5:15: soft must be below hard; soft is 20, hard is 10 by default
)e"},
    {"HardBelowDefaultSoft", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        hard: 1
)y",
     R"e(
f.yaml:5:15: soft must be below hard; soft is 3 by default, hard is 1
)e"},
    {"CustomSignalWithoutThresholds", R"y(
health_profiles:
  - name: p
    signals:
      - name: mine
        sql: SELECT 1
        soft: 1
)y",
     R"e(
f.yaml:4:9: signal 'mine' needs soft and hard; only built-in ones have defaults
)e"},
    {"CustomSignalNamedAsBuiltIn", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        sql: SELECT 1
        soft: 1
        hard: 2
)y",
     R"e(
f.yaml:4:15: 'lock_waiters' is a built-in signal; give yours another name, or leave out sql
)e"},
    {"CustomSignalWithSpaces", R"y(
health_profiles:
  - name: p
    signals: [{name: my signal, sql: SELECT 1, soft: 1, hard: 2}]
)y",
     R"e(
f.yaml:3:22: the name of a signal has no spaces
)e"},
    {"CustomSignalIsAnotherElsewhere", R"y(
health_profiles:
  - name: p
    signals: [{name: mine, sql: SELECT 1, soft: 1, hard: 2}]
  - name: q
    signals: [{name: mine, sql: SELECT 2, soft: 1, hard: 2}]
)y",
     R"e(
f.yaml:5:22: signal 'mine' is another query in another profile; give it another name
)e"},
    {"ServerOfBuiltInSignal", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        server: PRIMARY
)y",
     R"e(
f.yaml:5:17: server is for a signal with sql; where a built-in one is asked is fixed
)e"},
    {"SignalPeriodOutOfRange", R"y(
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
        every: 25h
)y",
     R"e(
f.yaml:5:16: every must be 50ms to 24h; it is 25h
)e"},
    {"SignalThatNoTargetHas", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys: [{name: s}]
  - name: u
health_profiles:
  - name: p
    signals:
      - name: lock_waiters
      - name: standby_lag_seconds
)y",
     R"e(
f.yaml:10:9: signal 'standby_lag_seconds' is measured on no target: none has a standby with a connection
)e"},
    {"ProfileThatItsTargetHasNoSignalOf", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys: [{name: s}]
  - name: u
    primary: {dsn_env: DSN}
    default_health: p
health_profiles:
  - name: p
    signals: [{name: replication_lag_seconds}]
)y",
     R"e(
f.yaml:7:21: health profile 'p' has no signal that this target could be measured by
)e"},
};

class WrongProfile : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongProfile, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongProfile, testing::ValuesIn(kWrongProfiles), NameOfCase);

}  // namespace
}  // namespace headgate::config
