// Plain values of the wrong type, unit or spelling.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongScalars[] = {
    {"YesForTrue", R"y(
server:
  reflection: yes
)y",
     R"e(
f.yaml:2:15: reflection: expected true or false, got 'yes', which not every reader of YAML takes for a truth value
)e"},
    {"QuotedTrue", R"y(
server:
  reflection: "true"
)y",
     R"e(
f.yaml:2:15: reflection: expected true or false, got the text 'true'
)e"},
    {"NumberForTrue", R"y(
server:
  reflection: 1
)y",
     R"e(
f.yaml:2:15: reflection: expected true or false, got '1'
)e"},
    {"TextForWholeNumber", R"y(
server:
  threads: many
)y",
     R"e(
f.yaml:2:12: threads: expected a whole number in decimal digits, got 'many'
)e"},
    {"FractionForWholeNumber", R"y(
server:
  threads: 1.5
)y",
     R"e(
f.yaml:2:12: threads: expected a whole number in decimal digits, got '1.5'
)e"},
    {"OctalLookalike", R"y(
server:
  threads: 010
)y",
     R"e(
f.yaml:2:12: threads: expected a whole number in decimal digits, got '010'
)e"},
    {"Hexadecimal", R"y(
server:
  threads: 0x10
)y",
     R"e(
f.yaml:2:12: threads: expected a whole number in decimal digits, got '0x10'
)e"},
    {"QuotedNumber", R"y(
server:
  threads: "4"
)y",
     R"e(
f.yaml:2:12: threads: expected a whole number in decimal digits, got the text '4'
)e"},
    {"UnitForWholeNumber", R"y(
server:
  max_message_bytes: 4MiB
)y",
     R"e(
f.yaml:2:22: max_message_bytes: expected a whole number in decimal digits, got '4MiB'
)e"},
    {"BeyondThirtyTwoBits", R"y(
server:
  threads: 99999999999
)y",
     R"e(
f.yaml:2:12: threads: expected a number from -2147483648 to 2147483647, got '99999999999'
)e"},
    {"BeyondSixtyFourBits", R"y(
server:
  max_message_bytes: 99999999999999999999
)y",
     R"e(
f.yaml:2:22: max_message_bytes: expected a number from -9223372036854775808 to 9223372036854775807, got '99999999999999999999'
)e"},
    {"UnitForNumber", R"y(
targets:
  - name: t
    capacity: 100MB
)y",
     R"e(
f.yaml:3:15: capacity: expected a number without a unit, got '100MB'
)e"},
    {"NotANumber", R"y(
targets:
  - name: t
    capacity: .nan
)y",
     R"e(
f.yaml:3:15: capacity: expected a finite number, got '.nan'
)e"},
    {"Infinity", R"y(
targets:
  - name: t
    capacity: -.Inf
)y",
     R"e(
f.yaml:3:15: capacity: expected a finite number, got '-.Inf'
)e"},
    {"InfinityAsCWritesIt", R"y(
targets:
  - name: t
    capacity: inf
)y",
     R"e(
f.yaml:3:15: capacity: expected a finite number, got 'inf'
)e"},
    {"NumberBeyondDouble", R"y(
targets:
  - name: t
    capacity: 1e999
)y",
     R"e(
f.yaml:3:15: capacity: expected a finite number, got '1e999'
)e"},
    {"DurationWithoutUnit", R"y(
engine:
  permit_ttl: 60
)y",
     R"e(
f.yaml:2:15: permit_ttl: a duration needs a unit: write 60s for seconds, or use ns, us, ms, m or h
)e"},
    {"DurationZeroWithoutUnit", R"y(
engine:
  permit_ttl: 0
)y",
     R"e(
f.yaml:2:15: permit_ttl: a duration needs a unit: write 0s for seconds, or use ns, us, ms, m or h
)e"},
    {"DurationWithUnknownUnit", R"y(
engine:
  permit_ttl: 1d
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration such as 250ms, 5s or 1h30m, got '1d'
)e"},
    {"DurationWithSpace", R"y(
engine:
  permit_ttl: 1 h
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration such as 250ms, 5s or 1h30m, got '1 h'
)e"},
    {"NegativeDuration", R"y(
engine:
  permit_ttl: -5s
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration of 0s or more, got '-5s'
)e"},
    {"EndlessDuration", R"y(
engine:
  permit_ttl: inf
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration such as 250ms, 5s or 1h30m, got 'inf'
)e"},
    {"DurationBeyondBounds", R"y(
engine:
  permit_ttl: 99999999h
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration of at most 100 years, got '99999999h'
)e"},
    {"DurationAsMapping", R"y(
engine:
  permit_ttl: {seconds: 5}
)y",
     R"e(
f.yaml:2:15: permit_ttl: expected a duration such as 250ms, 5s or 1h30m, got a mapping
)e"},
    {"TimeWithoutZone", R"y(
rules:
  - name: r
    deny: true
    expires_at: 2027-01-31T18:00:00
)y",
     R"e(
f.yaml:4:17: expires_at: expected a time with its zone such as 2027-01-31T18:00:00Z, got '2027-01-31T18:00:00'
)e"},
    {"DateAlone", R"y(
rules:
  - name: r
    deny: true
    expires_at: 2027-01-31
)y",
     R"e(
f.yaml:4:17: expires_at: expected a time with its zone such as 2027-01-31T18:00:00Z, got '2027-01-31'
)e"},
    {"TimeThatDoesNotExist", R"y(
rules:
  - name: r
    deny: true
    expires_at: 2027-02-30T00:00:00Z
)y",
     R"e(
f.yaml:4:17: expires_at: expected a time with its zone such as 2027-01-31T18:00:00Z, got '2027-02-30T00:00:00Z'
)e"},
    {"TimeBeyondNanoseconds", R"y(
rules:
  - name: r
    deny: true
    expires_at: 9999-01-01T00:00:00Z
)y",
     R"e(
f.yaml:4:17: expires_at: expected a time from the years 1970 to 2261, got '9999-01-01T00:00:00Z'
)e"},
    {"TimeNever", R"y(
rules:
  - name: r
    deny: true
    expires_at: infinite-future
)y",
     R"e(
f.yaml:4:17: expires_at: expected a time with its zone such as 2027-01-31T18:00:00Z, got 'infinite-future'
)e"},
    {"EnumInLowerCase", R"y(
budgets:
  - name: b
    mode: enforce
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got 'enforce'; did you mean ENFORCE?
)e"},
    {"EnumWithPrefix", R"y(
budgets:
  - name: b
    mode: MODE_WARN
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got 'MODE_WARN'; did you mean WARN?
)e"},
    {"EnumUnspecified", R"y(
budgets:
  - name: b
    mode: UNSPECIFIED
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got 'UNSPECIFIED'
)e"},
    {"EnumOff", R"y(
budgets:
  - name: b
    mode: off
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got 'off', which YAML may read as a truth value
)e"},
    {"EnumMisspelt", R"y(
budgets:
  - name: b
    mode: DISABLD
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got 'DISABLD'; did you mean DISABLED?
)e"},
    {"EnumNumber", R"y(
budgets:
  - name: b
    mode: 2
)y",
     R"e(
f.yaml:3:11: mode: expected ENFORCE, WARN or DISABLED, got '2'
)e"},
    {"RateText", R"y(
budgets:
  - name: b
    rate: fast
    burst: 5
)y",
     R"e(
f.yaml:3:11: rate: expected cost units a second such as 250, a share such as 20%, or auto, got 'fast'
)e"},
    {"RatePerSecond", R"y(
budgets:
  - name: b
    rate: 100/s
    burst: 5
)y",
     R"e(
f.yaml:3:11: rate: expected cost units a second such as 250, a share such as 20%, or auto, got '100/s'
)e"},
    {"RateInCapitals", R"y(
budgets:
  - name: b
    rate: AUTO
)y",
     R"e(
f.yaml:3:11: rate: expected cost units a second such as 250, a share such as 20%, or auto, got 'AUTO'
)e"},
    {"RateNotFinite", R"y(
budgets:
  - name: b
    rate: .inf%
    burst: 5
)y",
     R"e(
f.yaml:3:11: rate: expected a finite number, got '.inf%'
)e"},
    {"RateNothing", R"y(
budgets:
  - name: b
    rate:
    burst: 5
)y",
     R"e(
f.yaml:3:5: rate: expected cost units a second such as 250, a share such as 20%, or auto, got nothing
)e"},
    {"BurstText", R"y(
budgets:
  - name: b
    rate: 5
    burst: lots
)y",
     R"e(
f.yaml:4:12: burst: expected cost units such as 500, or a duration such as 5s, got 'lots'
)e"},
    {"BurstBadInside", R"y(
budgets:
  - name: b
    rate: 5
    burst: {units: lots}
)y",
     R"e(
f.yaml:4:20: units: expected a number without a unit, got 'lots'
)e"},
    {"OnStaleWrong", R"y(
health_profiles:
  - name: p
    signals: [{name: lock_waiters}]
    on_stale: deny
)y",
     R"e(
f.yaml:4:15: on_stale: expected DENY, ALLOW or a speed such as 0.1, got 'deny'
)e"},
};

class WrongScalar : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongScalar, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongScalar, testing::ValuesIn(kWrongScalars), NameOfCase);

}  // namespace
}  // namespace headgate::config
