// Keys, lists and mappings that do not fit the schema.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongStructures[] = {
    {"UnknownKey", R"y(
budgts: []
)y",
     R"e(
f.yaml:1:1: unknown key 'budgts'; did you mean 'budgets'?
)e"},
    {"UnknownKeyNothingNear", R"y(
zzzzzz: 1
)y",
     R"e(
f.yaml:1:1: unknown key 'zzzzzz'; known: 'server', 'engine', 'targets', 'health_profiles', 'budgets', 'rules', 'throttle_log', 'tls', 'access', 'cluster'
)e"},
    {"UnknownKeyInside", R"y(
budgets:
  - name: b
    rte: 5
    Burst: 5
)y",
     R"e(
f.yaml:3:5: unknown key 'rte'; did you mean 'rate'?
f.yaml:4:5: unknown key 'Burst'; did you mean 'burst'?
)e"},
    {"DuplicateKey", R"y(
server:
  threads: 1
  threads: 2
)y",
     R"e(
f.yaml:3:3: key 'threads' is given twice, first in line 2
)e"},
    {"KeyThatIsNoText", R"y(
server:
  [a]: 1
)y",
     R"e(
f.yaml:2:3: a key must be text
)e"},
    {"ListAtTheTop", R"y(
- a
)y",
     R"e(
f.yaml:1:1: expected a mapping with server, engine, targets, health_profiles, budgets, rules, throttle_log, tls, access or cluster, got a list
)e"},
    {"TextAtTheTop", R"y(
hello
)y",
     R"e(
f.yaml:1:1: expected a mapping with server, engine, targets, health_profiles, budgets, rules, throttle_log, tls, access or cluster, got a plain value
)e"},
    {"ScalarForMapping", R"y(
server: postgres://u:secret@h
)y",
     R"e(
f.yaml:1:9: server: expected a mapping with grpc_address, reflection, max_message_bytes, threads, state_dir, max_connections, max_connection_age or line, got a plain value
)e"},
    {"ListForMapping", R"y(
server: []
)y",
     R"e(
f.yaml:1:9: server: expected a mapping with grpc_address, reflection, max_message_bytes, threads, state_dir, max_connections, max_connection_age or line, got a list
)e"},
    {"LineBelowZero", R"y(
server:
  line:
    max_waiting: -1
    max_waiting_share: 0
    priority_floor: -0.1
)y",
     R"e(
f.yaml:3:18: max_waiting must be 0 to 1048576; it is -1
f.yaml:4:24: max_waiting_share must be 0.001 to 1; it is 0
f.yaml:5:21: priority_floor must be 0 to 0.25; it is -0.1
)e"},
    {"LineTooLarge", R"y(
server:
  line:
    max_waiting: 1048577
    max_waiting_share: 1.5
    priority_floor: 0.5
)y",
     R"e(
f.yaml:3:18: max_waiting must be 0 to 1048576; it is 1048577
f.yaml:4:24: max_waiting_share must be 0.001 to 1; it is 1.5
f.yaml:5:21: priority_floor must be 0 to 0.25; it is 0.5
)e"},
    {"ScalarForList", R"y(
targets: a
rules:
  - name: r
    charge: etl
budgets:
  - name: etl
)y",
     R"e(
f.yaml:1:10: targets: expected a list, got a plain value
f.yaml:4:13: charge: expected a list such as [a, b], got a plain value
)e"},
    {"MappingForList", R"y(
rules: {name: r}
)y",
     R"e(
f.yaml:1:8: rules: expected a list, got a mapping
)e"},
    {"ScalarForItem", R"y(
budgets:
  - etl
)y",
     R"e(
f.yaml:2:5: budgets: expected a mapping with name, rate, burst, max_cost, max_concurrency, mode, split, health, default_cost, max_buckets, auto_tuning, unit, max_overrun or max_debt, got a plain value
)e"},
    {"ListForText", R"y(
budgets:
  - name: [a]
)y",
     R"e(
f.yaml:2:11: name: expected text, got a list
)e"},
    {"NothingForText", R"y(
budgets:
  - name:
)y",
     R"e(
f.yaml:2:5: name: expected text, got nothing
)e"},
    {"EmptyText", R"y(
rules:
  - name: r
    match:
      identity: ""
    deny: true
)y",
     R"e(
f.yaml:4:17: identity: must not be empty; leave the key out instead
)e"},
    {"EmptyTextInAList", R"y(
rules:
  - name: r
    charge: [""]
)y",
     R"e(
f.yaml:3:14: charge: must not be empty; leave the key out instead
)e"},
    {"ControlCharacterInText", R"y(
budgets:
  - name: "a\0b"
)y",
     R"e(
f.yaml:2:11: name: must not hold control characters
)e"},
    {"RateTwice", R"y(
budgets:
  - name: b
    rate:
      units_per_second: 5
      server_share: 20
    burst: 5
)y",
     R"e(
f.yaml:5:7: only one of units_per_second, server_share or auto may be given, and server_share is not the first
)e"},
    {"RateAutoFalse", R"y(
budgets:
  - name: b
    rate: {auto: false}
    burst: 5
)y",
     R"e(
f.yaml:3:18: auto: write true, or one of the others instead: units_per_second, server_share or auto
)e"},
    {"RateEmptyMapping", R"y(
budgets:
  - name: b
    rate: {}
    burst: 5
)y",
     R"e(
f.yaml:3:11: needs one of units_per_second, server_share or auto
)e"},
    {"SplitPlain", R"y(
budgets:
  - name: b
    split: tenant
)y",
     R"e(
f.yaml:3:12: split: expected a mapping with depth or tag, got a plain value
)e"},
    {"SplitNothing", R"y(
budgets:
  - name: b
    split: {}
)y",
     R"e(
f.yaml:3:12: needs one of depth or tag
)e"},
    {"TagsAsList", R"y(
rules:
  - name: r
    deny: true
    match:
      tags: [a, b]
)y",
     R"e(
f.yaml:5:13: tags: expected a mapping such as {key: value}, got a list
)e"},
    {"TagTwice", R"y(
rules:
  - name: r
    deny: true
    match:
      tags: {a: 1, a: 2}
)y",
     R"e(
f.yaml:5:20: key 'a' is given twice, first in line 5
)e"},
    {"TagWithAList", R"y(
rules:
  - name: r
    deny: true
    match:
      tags: {a: [1]}
)y",
     R"e(
f.yaml:5:17: 'a': expected text, got a list
)e"},
    {"AllAtOnce", R"y(
servr: {}
server:
  threads: yes
  reflection: 2
engine:
  permit_ttl: 5
budgets:
  - name: b
    rate: fast
    mode: off
    brst: 1
rules:
  - name: r
    charge: [c]
    match: {identity: "a b"}
)y",
     R"e(
f.yaml:1:1: unknown key 'servr'; did you mean 'server'?
f.yaml:3:12: threads: expected a whole number in decimal digits, got 'yes'
f.yaml:4:15: reflection: expected true or false, got '2'
f.yaml:6:15: permit_ttl: a duration needs a unit: write 5s for seconds, or use ns, us, ms, m or h
f.yaml:9:11: rate: expected cost units a second such as 250, a share such as 20%, or auto, got 'fast'
f.yaml:10:11: mode: expected ENFORCE, WARN or DISABLED, got 'off', which YAML may read as a truth value
f.yaml:11:5: unknown key 'brst'; did you mean 'burst'?
f.yaml:14:14: unknown budget 'c'; known: 'b'
f.yaml:15:23: rule 'r': identity: identity has the byte ' ' at position 1; allowed are A-Z a-z 0-9 _ - . @ / and, between segments, ':'
)e"},
};

class WrongStructure : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongStructure, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongStructure, testing::ValuesIn(kWrongStructures), NameOfCase);

}  // namespace
}  // namespace headgate::config
