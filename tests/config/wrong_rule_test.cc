// Rules that make no sense.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongRules[] = {
    {"RuleWithoutAction", R"y(
rules:
  - name: r
    match: {identity: a}
)y",
     R"e(
f.yaml:2:5: a rule needs an action: one of charge, exempt, deny, reject_ratio, health, priority, weight
)e"},
    {"RuleWithTwoActions", R"y(
budgets: [{name: b}]
rules:
  - name: r
    charge: [b]
    deny: true
)y",
     R"e(
f.yaml:5:11: a rule has one action, and this one has charge as well; write two rules
)e"},
    {"RuleWithFalseAction", R"y(
rules:
  - name: r
    deny: false
  - name: s
    exempt: false
)y",
     R"e(
f.yaml:3:11: write true, or leave it out and give another action
f.yaml:5:13: write true, or leave it out and give another action
)e"},
    {"RuleChargesNothing", R"y(
rules:
  - name: r
    charge: []
)y",
     R"e(
f.yaml:2:5: rule 'r': charges no budget
)e"},
    {"RuleChargesUnknownBudgets", R"y(
budgets:
  - name: backfill
rules:
  - name: r
    charge: [backfill, bakfill]
  - name: s
    charge: [other]
)y",
     R"e(
f.yaml:5:24: unknown budget 'bakfill'; did you mean 'backfill'?
f.yaml:7:14: unknown budget 'other'; known: 'backfill'
)e"},
    {"RuleChargesTooMany", R"y(
budgets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}, {name: i}, {name: j}, {name: k}, {name: l}, {name: m}, {name: n}, {name: o}, {name: p}, {name: q}]
rules:
  - name: r
    charge: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]
)y",
     R"e(
f.yaml:4:13: a Check can be charged to 16 budgets at most; these are 17
)e"},
    {"RuleRatioOutOfRange", R"y(
rules:
  - name: r
    reject_ratio: 1.5
)y",
     R"e(
f.yaml:3:19: rule 'r': reject_ratio must be 0 to 1; it is 1.5
)e"},
    {"RuleWeightOutOfRange", R"y(
rules:
  - {name: a, weight: 0}
  - {name: b, weight: -1}
  - {name: c, weight: 1e9}
  - {name: d, weight: 0.0009}
  - name: e
    weight: .nan
)y",
     R"e(
f.yaml:2:23: rule 'a': weight must be 0.001 to 1000; it is 0
f.yaml:3:23: rule 'b': weight must be 0.001 to 1000; it is -1
f.yaml:4:23: rule 'c': weight must be 0.001 to 1000; it is 1e+09
f.yaml:5:23: rule 'd': weight must be 0.001 to 1000; it is 0.0009
f.yaml:7:13: weight: expected a finite number, got '.nan'
)e"},
    {"RuleWithAWeightBesideAPriority", R"y(
rules:
  - name: r
    priority: 3
    weight: 2
)y",
     R"e(
f.yaml:4:13: a rule has one action, and this one has priority as well; write two rules
)e"},
    {"RuleOfUnknownProfile", R"y(
targets: [{name: t, primary: {dsn_env: D}}]
rules:
  - name: r
    health: p
)y",
     R"e(
f.yaml:4:13: unknown health profile 'p'; none is defined
)e"},
    {"RuleOnUnknownTarget", R"y(
targets: [{name: orders}]
rules:
  - name: r
    match: {target: order}
    deny: true
)y",
     R"e(
f.yaml:4:21: unknown target 'order'; did you mean 'orders'?
)e"},
    {"RuleWithBadSelector", R"y(
rules:
  - name: r
    match: {identity: "a b:etl"}
    deny: true
  - name: s
    match:
      segment: a:b
    deny: true
)y",
     R"e(
f.yaml:3:23: rule 'r': identity: identity has the byte ' ' at position 1; allowed are A-Z a-z 0-9 _ - . @ / and, between segments, ':'
f.yaml:7:16: rule 's': segment: segment has the byte ':' at position 1; allowed are A-Z a-z 0-9 _ - . @ /
)e"},
    {"RuleWithAMatchThatSaysNothing", R"y(
rules:
  - {name: r, match: {}, deny: true}
  - name: s
    match:
      # identity: etl
    deny: true
  - {name: t, match: {identity: ""}, exempt: true}
  - {name: u, exempt: true}
)y",
     R"e(
f.yaml:2:22: match has no condition; leave it out if the rule is for everybody
f.yaml:4:5: match has no condition; leave it out if the rule is for everybody
f.yaml:7:33: identity: must not be empty; leave the key out instead
)e"},
    {"RuleWithBadNetwork", R"y(
rules:
  - name: r
    match:
      remote_address: 10.0.0.1/8
    deny: true
  - name: s
    match:
      remote_address: localhost
    deny: true
)y",
     R"e(
f.yaml:4:23: rule 'r': remote_address: '10.0.0.1/8' has bits set beyond /8; write 10.0.0.0/8
f.yaml:8:23: rule 's': remote_address: 'localhost' is not an IP address; write one such as 10.0.0.1 or 2001:db8::1
)e"},
    {"ScheduleEmpty", R"y(
rules:
  - name: r
    deny: true
    match:
      schedule: {}
)y",
     R"e(
f.yaml:5:17: a schedule needs at least one window
f.yaml:5:17: a schedule needs a time_zone such as Europe/Berlin or UTC
)e"},
    {"ScheduleWrong", R"y(
rules:
  - name: r
    deny: true
    match:
      schedule:
        time_zone: Europe/Belrin
        windows:
          - days: [mon, Tue, funday]
            from: 7:00
            to: "24:30"
          - from: "24:00"
            to: "06:00"
          - from: "08:00"
            to: "08:00"
          - days: [sun]
)y",
     R"e(
f.yaml:6:20: unknown time_zone 'Europe/Belrin'; write an IANA name such as Europe/Berlin or UTC
f.yaml:8:25: unknown day 'Tue'; known: mon, tue, wed, thu, fri, sat, sun
f.yaml:8:30: unknown day 'funday'; known: mon, tue, wed, thu, fri, sat, sun
f.yaml:9:19: expected HH:MM from 00:00 to 24:00, got '7:00'
f.yaml:10:17: expected HH:MM from 00:00 to 24:00, got '24:30'
f.yaml:11:19: a window cannot begin at 24:00; write 00:00
f.yaml:14:17: a window cannot end when it begins; the whole day is 00:00 to 24:00
f.yaml:15:13: a window needs from and to, such as 22:00 and 06:00
)e"},
};

class WrongRule : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongRule, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongRule, testing::ValuesIn(kWrongRules), NameOfCase);

}  // namespace
}  // namespace headgate::config
