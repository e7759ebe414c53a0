// Servers, engines and targets that make no sense.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongTargets[] = {
    {"AddressWithoutPort", R"y(
server:
  grpc_address: localhost
)y",
     R"e(
f.yaml:2:17: grpc_address must be host:port such as 127.0.0.1:8081 or [::1]:8081, port 0 to 65535; it is 'localhost'
)e"},
    {"AddressWithBadPort", R"y(
server:
  grpc_address: localhost:99999
)y",
     R"e(
f.yaml:2:17: grpc_address must be host:port such as 127.0.0.1:8081 or [::1]:8081, port 0 to 65535; it is 'localhost:99999'
)e"},
    {"AddressWithBareIpv6", R"y(
server:
  grpc_address: ::1:8081
)y",
     R"e(
f.yaml:2:17: grpc_address must be host:port such as 127.0.0.1:8081 or [::1]:8081, port 0 to 65535; it is '::1:8081'
)e"},
    {"ServerSizes", R"y(
server:
  max_message_bytes: 10
  threads: 0
)y",
     R"e(
f.yaml:2:22: max_message_bytes must be 1024 to 1073741824; it is 10
f.yaml:3:12: threads must be 1 to 64; it is 0
)e"},
    {"MoreThreadsThanAreServedBy", R"y(
server:
  threads: 65
)y",
     R"e(
f.yaml:2:12: threads must be 1 to 64; it is 65
)e"},
    {"EngineSizes", R"y(
engine:
  permit_ttl: 25h
  max_permits: 63
  max_patterns: 16777217
  bucket_bytes: -1
  max_permit_share: 1.5
)y",
     R"e(
f.yaml:2:15: permit_ttl must be 1ms to 24h; it is 25h
f.yaml:3:16: max_permits must be 64 to 16777216; it is 63
f.yaml:4:17: max_patterns must be 64 to 16777216; it is 16777217
f.yaml:5:17: bucket_bytes must be 4096 to 1099511627776; it is -1
f.yaml:6:21: max_permit_share must be above 0 and at most 1; it is 1.5
)e"},
    {"NoShareOfPermits", R"y(
engine: {max_permit_share: 0}
)y",
     R"e(
f.yaml:1:28: max_permit_share must be above 0 and at most 1; it is 0
)e"},
    {"NameMissing", R"y(
targets:
  - capacity: 5
health_profiles:
  - signals: [{name: lock_waiters}]
budgets:
  - rate: 5
    burst: 5
rules:
  - deny: true
)y",
     R"e(
f.yaml:2:5: a target needs a name
f.yaml:4:5: a health profile needs a name
f.yaml:6:5: a budget needs a name
f.yaml:9:5: a rule needs a name
)e"},
    {"NameTwice", R"y(
targets: [{name: t}, {name: t}]
budgets:
  - name: b
  - name: b
rules:
  - {name: r, deny: true}
  - {name: r, deny: true}
)y",
     R"e(
f.yaml:1:29: target 't' is defined twice, first in line 1
f.yaml:4:11: budget 'b' is defined twice, first in line 3
f.yaml:7:12: rule 'r' is defined twice, first in line 6
)e"},
    {"NameUnfit", R"y(
budgets:
  - name: " b"
  - name: "b\nc"
)y",
     R"e(
f.yaml:2:11: the name of a budget has at most 128 bytes, on one line, with no space around it
f.yaml:3:11: the name of a budget has at most 128 bytes, on one line, with no space around it
)e"},
    {"NegativeCapacity", R"y(
targets:
  - name: t
    capacity: -5
)y",
     R"e(
f.yaml:3:15: target 't': capacity must be a finite number, 0 or more; it is -5
)e"},
    {"UnknownDefaultHealth", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    default_health: standrad
health_profiles:
  - name: standard
    signals: [{name: lock_waiters}]
)y",
     R"e(
f.yaml:4:21: unknown health profile 'standrad'; did you mean 'standard'?
)e"},
    {"DefaultHealthWithoutPrimary", R"y(
targets:
  - name: t
    default_health: p
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
)y",
     R"e(
f.yaml:3:21: health profile 'p' cannot be measured: the target has no primary
)e"},
    {"UnknownDefaultHealthWithoutPrimary", R"y(
targets:
  - name: t
    default_health: zz
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
)y",
     R"e(
f.yaml:3:21: unknown health profile 'zz'; known: 'p'
)e"},
    {"HealthWithoutAnyPrimary", R"y(
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
budgets:
  - name: b
    health: p
rules:
  - name: r
    health: p
)y",
     R"e(
f.yaml:6:13: health profile 'p' cannot be measured: no target has a primary
f.yaml:9:13: health profile 'p' cannot be measured: no target has a primary
)e"},
    {"PasswordInDsn", R"y(
targets:
  - name: t
    primary:
      dsn: host=h password=hunter2
)y",
     R"e(
f.yaml:4:12: dsn holds a password; put that into a password_file, or all of it into a dsn_file or an environment variable (dsn_env)
)e"},
    {"PasswordInUri", R"y(
targets:
  - name: t
    primary:
      dsn: postgresql://u:hunter2@h/db
)y",
     R"e(
f.yaml:4:12: dsn holds a password; put that into a password_file, or all of it into a dsn_file or an environment variable (dsn_env)
)e"},
    {"DsnThatIsNone", R"y(
targets:
  - name: t
    primary:
      dsn: my database
)y",
     R"e(
f.yaml:4:12: dsn is no connection string; write host=db port=5432 dbname=app user=headgate, or postgresql://headgate@db:5432/app
)e"},
    {"DsnTwice", R"y(
targets:
  - name: t
    primary:
      dsn: host=h
      dsn_env: DSN
)y",
     R"e(
f.yaml:4:7: takes only one of dsn, dsn_file and dsn_env
)e"},
    {"DsnNotAtAll", R"y(
targets:
  - name: t
    primary: {}
)y",
     R"e(
f.yaml:3:14: needs one of dsn, dsn_file and dsn_env
)e"},
    {"DsnNothing", R"y(
targets:
  - name: t
    primary:
      dsn_file: ""
)y",
     R"e(
f.yaml:4:17: dsn_file: must not be empty; leave the key out instead
)e"},
    {"DsnEnvWithDollar", R"y(
targets:
  - name: t
    primary:
      dsn_env: $DSN
)y",
     R"e(
f.yaml:4:16: dsn_env must be the name of an environment variable: letters, digits and _
)e"},
    {"PasswordFileWithoutDsn", R"y(
targets:
  - name: t
    primary:
      dsn_file: /dsn
      password_file: /password
)y",
     R"e(
f.yaml:5:22: password_file goes with dsn; in a dsn_file or a dsn_env the password may be part of the connection string
)e"},
    {"StandbyWithoutPrimary", R"y(
targets:
  - name: t
    standbys: [{name: s}]
)y",
     R"e(
f.yaml:3:15: a target with standbys needs a primary, from which they are watched
)e"},
    {"StandbyTwice", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys:
      - name: s
      - name: s
)y",
     R"e(
f.yaml:6:15: standby 's' is defined twice, first in line 5
)e"},
    {"StandbyApplicationTwice", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys:
      - name: a
      - name: b
        application_name: a
)y",
     R"e(
f.yaml:7:27: application_name 'a' is that of standby 'a' already
)e"},
    {"StandbyCalledPrimary", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys:
      - name: primary
)y",
     R"e(
f.yaml:5:15: a standby may not be called primary, which is what status calls the primary
)e"},
    {"StandbyWithBadConnection", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys:
      - name: s
        connection: {dsn: "password='a b'"}
)y",
     R"e(
f.yaml:6:27: dsn holds a password; put that into a password_file, or all of it into a dsn_file or an environment variable (dsn_env)
)e"},
    {"SetAsideReasonAlone", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    standbys:
      - name: s
        set_aside_reason: broken
)y",
     R"e(
f.yaml:6:27: a set_aside_reason needs a set_aside_until
)e"},
    {"PollingBounds", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    polling:
      interval: 10ms
      timeout: 2m
      idle_after: 0s
      idle_interval: 1h
)y",
     R"e(
f.yaml:5:17: interval must be 50ms to 1m; it is 10ms
f.yaml:6:16: timeout must be 100ms to 1m; it is 2m
f.yaml:7:19: idle_after must be 1s to 24h; it is 0
f.yaml:8:22: idle_interval must be 50ms to 10m; it is 1h
)e"},
    {"IdleIntervalShorterThanInterval", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
    polling:
      interval: 2s
      idle_interval: 1s
)y",
     R"e(
f.yaml:6:22: idle_interval 1s is shorter than the interval, 2s
)e"},
    {"BatchWorkEmpty", R"y(
targets:
  - name: t
    batch_work: {}
)y",
     R"e(
f.yaml:3:17: batch_work needs roles or application_names
)e"},
    {"BatchWorkIsEverything", R"y(
targets:
  - name: t
    batch_work:
      application_names: [gh-ost, "*"]
)y",
     R"e(
f.yaml:4:35: application name '*' is every session's: no foreground would be left to protect
)e"},
    {"BatchWorkRolesThatAreNone", R"y(
targets:
  - name: t
    batch_work:
      roles: [etl, "bat*", " "]
)y",
     R"e(
f.yaml:4:20: role 'bat*' has a '*', which stands for nothing else: name each role that jobs run as
f.yaml:4:28: a role of batch_work has no name
)e"},
    {"BatchWorkStarInTheMiddle", R"y(
targets:
  - name: t
    batch_work:
      application_names: [ok*, "a*b"]
)y",
     R"e(
f.yaml:4:32: application name 'a*b' has a '*' before its end; it stands for any rest, at the end
)e"},
};

class WrongTarget : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongTarget, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongTarget, testing::ValuesIn(kWrongTargets), NameOfCase);

}  // namespace
}  // namespace headgate::config
