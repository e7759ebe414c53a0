#!/usr/bin/env bash
# tools/check_rules.sh catches each kind of violation, and only those.
# Watches: tools/check_rules.sh tools/rooms.sh tools/fail_on_output.sh CONTRIBUTING.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

ROOT=$(mktemp -d)
trap 'rm -r "$ROOT"' EXIT
TRIED=0

fail() {
  echo "$*"
  exit 1
}

# plant FILE LINE: a tree with nothing but this line of code.
plant() {
  rm -rf "${ROOT:?}"/*
  mkdir -p "$ROOT/$(dirname "$1")"
  printf '%s\n' "$2" >"$ROOT/$1"
  TRIED=$((TRIED + 1))
}

caught() { # caught RULE FILE LINE
  local output
  plant "$2" "$3"
  if output=$(tools/check_rules.sh "$1" "$ROOT"); then fail "$1 overlooks '$3' in $2"; fi
  grep -q "^$2:1: " <<<"$output" || fail "$1 does not name the place of '$3' in $2: $output"
}

allowed() { # allowed RULE FILE LINE
  local output
  plant "$2" "$3"
  output=$(tools/check_rules.sh "$1" "$ROOT") || fail "$1 objects to '$3' in $2: $output"
}

arrows() {
  caught arrows common/a.h '#include "server/decide/engine/engine.h"'
  caught arrows common/a.h '#include <server/decide/engine/engine.h>'
  caught arrows common/a.cc '#include "client/client.h"'
  caught arrows common/a.h '#include "tests/testing/fake.h"'
  caught arrows common/a.h '#include "../server/decide/engine/engine.h"'
  caught arrows common/a.h '#include "a.h"'
  caught arrows server/decide/engine/a.cc '#include "server/observe/health/health.h"'
  caught arrows server/decide/engine/a.cc '  #  include "tests/testing/fake.h"'
  caught arrows client/a.cc '#include "server/decide/engine/engine.h"'
  caught arrows client/a.cc '#include "client/cli/commands.h"'
  caught arrows client/cli/check/a.cc '#include "client/cli/log/log_csv.h"'
  caught arrows client/cli/output/a.cc '#include "client/cli/check/a.h"'
  caught arrows client/cli/output/a.cc '#include "client/cli/arguments/a.h"'
  caught arrows server/attic/a.cc '#include <vector>'
  caught arrows server/govern/access/a.cc '#include <grpcpp/server_context.h>'
  caught arrows server/serve/transport/a.cc '#include "server/serve/rpc/errors.h"'
  caught arrows server/serve/web/a.cc '#include "server/serve/rpc/sources.h"'
  allowed arrows server/serve/rpc/a.cc '#include "server/serve/transport/service.h"'
  allowed arrows common/a.h '#include "common/b.h"'
  allowed arrows server/decide/engine/a.cc '#include "common/b.h"'
  allowed arrows client/cli/app.cc '#include "client/cli/check/a.h"'
  allowed arrows client/cli/check/a.cc '#include "client/cli/commands.h"'
  allowed arrows client/cli/check/a.cc '#include "client/cli/output/table.h"'
  allowed arrows client/cli/arguments/a.cc '#include "client/cli/output/table.h"'
  allowed arrows server/decide/engine/a.cc '#include "absl/time/time.h"'
  allowed arrows tests/decide/engine/a_test.cc '#include "server/decide/engine/engine.h"'
  allowed arrows common/a.h '// #include "server/decide/engine/engine.h"'
  caught arrows server/decide/engine/a.cc '#include <headgate/v1/config.pb.h>'
  caught arrows server/observe/health/a.cc '#include <google/rpc/status.pb.h>'
  allowed arrows server/serve/rpc/a.cc '#include <google/rpc/status.pb.h>'
  allowed arrows client/a.cc '#include <headgate/v1/throttler_service.grpc.pb.h>'
}

# plant_target FOLDER LINE...: that is in the folder's CMakeLists.txt, besides what is there.
plant_target() {
  mkdir -p "$ROOT/$1"
  printf '%s\n' "${@:2}" >"$ROOT/$1/CMakeLists.txt"
}

targets_follow_arrows() {
  local output linked
  rm -rf "${ROOT:?}"/*
  plant_target server/observe/health 'headgate_library(headgate_health)'
  plant_target proto 'add_library(headgate_proto STATIC a.cc)'
  for linked in 'headgate_library(headgate_engine headgate_health)' \
    $'headgate_library(headgate_engine absl::status\n  headgate_proto)' \
    $'headgate_library(headgate_engine)\ntarget_link_libraries(headgate_engine\n  PUBLIC headgate_health)'; do
    plant_target server/decide/engine "$linked"
    TRIED=$((TRIED + 1))
    if output=$(tools/check_rules.sh arrows "$ROOT"); then fail "overlooked: $linked"; fi
    grep -q '^server/decide/engine/CMakeLists.txt:[0-9]*: server/decide/engine may not link headgate_' <<<"$output" ||
      fail "not named: $linked: $output"
  done
  plant_target server/decide/engine '# headgate_library(headgate_engine headgate_health)' 'headgate_library(headgate_engine)'
  plant_target server/serve/rpc 'headgate_library(headgate_rpc headgate_engine headgate_health headgate_proto)'
  output=$(tools/check_rules.sh arrows "$ROOT") || fail "arrows objects to good targets: $output"
  plant_target server/attic 'headgate_library(headgate_attic)'
  if tools/check_rules.sh arrows "$ROOT" >/dev/null; then fail "a target in a room without arrows is let through"; fi
}

# stale WHAT PATTERN: the table of rooms in the planted tree is complained of, in these words.
stale() {
  local output
  TRIED=$((TRIED + 1))
  if output=$(tools/check_rules.sh rooms "$ROOT" 2>&1); then fail "$1 is let through"; fi
  grep -q -e "$2" <<<"$output" || fail "$1 is not named: $output"
}

# A tree with every room's purpose, and the table that is made of them.
# shellcheck disable=SC2016
table_follows_arrows() {
  local file output page=CONTRIBUTING.md
  rm -rf "${ROOT:?}"/*
  while IFS= read -r file; do
    mkdir -p "$ROOT/$(dirname "$file")"
    cp "$file" "$ROOT/$file"
  done < <(find common proto server client -name CMakeLists.txt)
  echo 'no table here' >"$ROOT/$page"
  stale 'a page without a table' "^$page:1: "
  cp "$page" "$ROOT/"
  output=$(tools/check_rules.sh rooms "$ROOT") || fail "rooms objects to our own table: $output"
  sed -i 's/^| `server\/govern\/tls` | .* | `common`/&, `engine`/' "$ROOT/$page"
  stale 'a table with another arrow' "^$page:[0-9]*: the table is not what the arrows say"
  sed -i '/^| `server\/govern\/tls` /d' "$ROOT/$page"
  stale 'a table without a room' "^$page:[0-9]*: the table is not"
  tools/check_rules.sh write-table "$ROOT"
  cmp "$page" "$ROOT/$page" || fail "the table that is written is another one"
  sed -i '1s/.*/# Nothing but certificates./' "$ROOT/server/govern/tls/CMakeLists.txt"
  stale 'a room with another purpose' "^$page:[0-9]*: the table is not"
  sed -i '1d' "$ROOT/server/govern/tls/CMakeLists.txt"
  stale 'a room without a purpose' '^server/govern/tls/CMakeLists.txt:1: '
}

# A copy of the rules in which ARROWS or the pages of the wings are changed.
# shellcheck disable=SC2016
wings_hold() {
  local output
  rm -rf "${ROOT:?}"/*
  mkdir "$ROOT/tools"
  cp tools/check_rules.sh tools/rooms.sh tools/fail_on_output.sh "$ROOT/tools/"
  sed -i 's/^decide\/line .*/& health/' "$ROOT/tools/rooms.sh"
  TRIED=$((TRIED + 4))
  if output=$("$ROOT/tools/check_rules.sh" arrows); then fail "an arrow upward is let through"; fi
  grep -q '^server/decide/line may not use server/observe/health: ' <<<"$output" || fail "the arrow is not named: $output"
  cp tools/rooms.sh "$ROOT/tools/"
  sed -i 's/^govern\/access .*/& store/' "$ROOT/tools/rooms.sh"
  if "$ROOT/tools/check_rules.sh" arrows >/dev/null; then fail "an arrow beside is let through"; fi
  cp tools/rooms.sh "$ROOT/tools/"
  find server -name README.md -exec cp --parents {} "$ROOT" \;
  "$ROOT/tools/check_rules.sh" wings || fail "wings objects to our own pages"
  sed -i '/`line`/d' "$ROOT/server/decide/README.md"
  if output=$("$ROOT/tools/check_rules.sh" wings); then fail "a page without a room is let through"; fi
  grep -q '^server/decide/README.md:1: ' <<<"$output" || fail "the page is not named: $output"
}

protos_name_a_go_package() {
  caught protos proto/headgate/v1/a.proto 'package headgate.v1;'
  caught protos proto/google/rpc/a.proto '// option go_package = "a";'
  caught protos proto/google/rpc/a.proto 'option go_package = "";'
  allowed protos proto/headgate/v1/a.proto 'option go_package = "example.org/a;a";'
}

engine_does_no_io() {
  local header
  for header in grpcpp/grpcpp.h grpc/grpc.h pqxx/pqxx google/protobuf/message.h iostream fstream \
    cstdio stdio.h sys/socket.h netinet/in.h; do
    caught arrows server/decide/engine/a.cc "#include <$header>"
    allowed arrows tests/decide/engine/a_test.cc "#include <$header>"
  done
}

clock_is_injected() {
  local line
  for line in 'auto t = std::chrono::steady_clock::now();' 'using C = std::chrono::system_clock;' \
    'auto t = Clock::now();' 'auto t = absl::Now();' 'clock_gettime(CLOCK_MONOTONIC, &t);' \
    'gettimeofday(&t, nullptr);' 'auto t = time(nullptr);' 'auto t = std::time( NULL );' \
    'auto t = __rdtsc();' 'std::this_thread::sleep_for(d);' 'usleep(5);' 'absl::SleepFor(d);' \
    'std::random_device device;' 'int i = rand();' 'absl::BitGen gen;' 'f(); /* x */ usleep(1);'; do
    caught clock server/decide/engine/a.cc "$line"
    caught clock tests/decide/engine/a_test.cc "$line"
    allowed clock common/system_clock.cc "$line"
    allowed clock tests/bench/a_bench.cc "$line"
  done
}

seeds_are_literals() {
  caught clock server/decide/engine/a.cc 'std::mt19937_64 random(seed);'
  caught clock common/a.cc 'auto random = std::mt19937{Seed()};'
  allowed clock server/decide/engine/a.cc 'std::mt19937_64 random(42);'
  allowed clock tests/decide/engine/a_test.cc 'std::mt19937_64 random(seed);'
}

words_alone_are_no_clock() {
  allowed clock server/decide/engine/a.cc '// never calls absl::Now() or sleeps: usleep(1)'
  allowed clock server/decide/engine/a.cc 'Log("absl::Now() is forbidden");'
  allowed clock server/decide/engine/a.cc 'Decide(clock.Now(), operand (a), brand(1), runtime(0));'
  allowed clock server/app/a.cc '#include "common/system_clock.h"'
}

# lines NUMBER: a file of that length, with nothing else in the tree.
lines() {
  plant server/decide/engine/a.cc ''
  seq -f '// %g' "$1" >"$ROOT/server/decide/engine/a.cc"
}

files_stay_short() {
  local output
  lines 401
  if tools/check_rules.sh length "$ROOT" >/dev/null; then fail "401 lines are let through"; fi
  lines 400
  output=$(tools/check_rules.sh length "$ROOT") || fail "400 lines are not let through"
  [[ $output == 'warning: server/decide/engine/a.cc: 400 lines'* ]] || fail "400 lines give no warning"
  lines 150
  output=$(tools/check_rules.sh length "$ROOT") || fail "150 lines are not let through"
  [[ -z $output ]] || fail "150 lines give a warning: $output"
}

arrows
targets_follow_arrows
table_follows_arrows
wings_hold
protos_name_a_go_package
engine_does_no_io
clock_is_injected
seeds_are_literals
words_alone_are_no_clock
files_stay_short
echo "$TRIED planted files judged rightly"
