#!/usr/bin/env bash
# The test runner counts honestly: nothing that went wrong ends in "0 failed".
# Code of the stand-ins is expanded when they run.
# shellcheck disable=SC2016
# Watches: tools/test* tools/slowest.sh tools/changed.sh tools/rooms.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

ROOT=$(mktemp -d)
trap 'rm -r "$ROOT"' EXIT
CLAIMS=0

# room NAME BODY: a stand-in for the gtest binary of a tests folder; $xml is where results go.
room() {
  mkdir -p "$ROOT/tests/$1" "$ROOT/build/release/bin"
  echo 'TEST(Suite, One) {} TEST(Suite, Two) {}' >"$ROOT/tests/$1/a_test.cc"
  { stand_in_prologue && echo "$2"; } >"$ROOT/build/release/bin/headgate_${1}_tests"
  chmod +x "$ROOT/build/release/bin/headgate_${1}_tests"
}

stand_in_prologue() {
  cat <<'BASH'
#!/usr/bin/env bash
for argument; do
  case $argument in
    --gtest_list_tests) printf 'Suite.\n  One\n  Two\n'; exit ;;
    --gtest_output=xml:*) xml=${argument#*:} ;;
  esac
done
passing() { echo '    <testcase name="One" status="run" result="completed" classname="Suite" />' >>"$xml"; }
failing() {
  echo '    <testcase name="Two" status="run" result="completed" classname="Suite">' >>"$xml"
  echo '      <failure message="a.cc:1&#x0A;no" type="">' >>"$xml"
  printf '[ RUN      ] Suite.Two\na.cc:1: Failure\nwhat went wrong\n[  FAILED  ] Suite.Two (0 ms)\n'
}
skipping() {
  echo '    <testcase name="Three" status="run" result="skipped" classname="Suite">' >>"$xml"
  echo '      <skipped message="a.cc:1&#x0A;no &quot;helm&quot; here">' >>"$xml"
}
BASH
}

shell_test() { # shell_test NAME BODY
  mkdir -p "$ROOT/tests/dev"
  echo "$2" >"$ROOT/tests/dev/$1.sh"
}

# Makes the planted tree a repository, and commits what is in it.
commit() {
  git -C "$ROOT" init --quiet
  git -C "$ROOT" add --all
  git -C "$ROOT" -c user.name=a -c user.email=a commit --quiet --allow-empty --message=a
}

# Runs the runner on the planted tree, in which everything counts as built.
run() {
  # shellcheck disable=SC2317
  say() { echo "$*"; }
  # shellcheck source=tools/postgres.sh
  source tools/postgres.sh
  # shellcheck source=tools/test.sh
  source tools/test.sh
  cd "$ROOT"
  POSTGRES_UNITS=${PLANTED_UNITS:-postgres .}
  read -r -a POSTGRES_PINNED <<<"${PLANTED_VERSIONS:-18}"
  # What is planted is short where nothing else is said of it, and shell tests come last.
  PLAN=${PLANTED_PLAN-$(all_units | sed '/^dev/ s/$/ short:9 - -/; /^dev/! s/$/ short:10 - -/')}
  build_preset() { [[ ! -e build_fails ]]; }
  # shellcheck disable=SC2317
  require_postgres() { [[ ! -e no_python ]] || { echo "it takes python3" && return 77; }; }
  # shellcheck disable=SC2317
  postgres_folder() { echo "/pinned/$1"; }
  TEST_REGEX=${1:-}
  choose_run "${RUN:-}"
  trap finish_tests EXIT
  test_release
}

# claim WHAT STATUS LAST_LINE [TEXT]: about a run of the planted tree, which is cleared then.
claim() {
  local what=$1 wanted=$2 last=$3 text=${4:-} status=0 output
  output=$(run "${REGEX:-}" 2>&1) || status=$?
  CLAIMS=$((CLAIMS + 1))
  rm -rf "${ROOT:?}"/*
  if ((status == wanted)) && [[ ${output##*$'\n'} == "$last" && $output == *"$text"* ]]; then
    return 0
  fi
  echo "not so: $what; status $status, output:"
  echo "$output"
  exit 1
}

unset CI HEADGATE_POSTGRES

room one passing
mkdir "$ROOT/../kept.$$"
HEADGATE_POSTGRES_TEMPLATE=$ROOT/../kept.$$ claim "a folder of another run's stays" 0 "1 passed, 0 failed"
rmdir "$ROOT/../kept.$$"

room one passing
shell_test good 'echo fine'
claim "tests of all kinds add up" 0 "2 passed, 0 failed"

room one 'passing; failing; exit 1'
claim "a failing test is shown" 1 "1 passed, 1 failed" "what went wrong"

room one 'passing; failing; exit 1'
claim "and named once more at the end" 1 "1 passed, 1 failed" $'failed: one (release): Suite.Two\n1 passed, 1 failed'

room one 'echo "[ RUN      ] Suite.One"; kill -SEGV $$'
claim "so is a crash" 1 "0 passed, 1 failed" 'failed: one (release): Suite.One ended it with status 139'

room one 'echo "[       OK ] Suite.One (0 ms)"; echo last words; kill -SEGV $$'
claim "a crash before any results is a failure" 1 "1 passed, 1 failed" "last words"

room one 'passing; echo leaked; exit 23'
claim "a bad exit status after good tests is a failure" 1 "1 passed, 1 failed" "leaked"

room one 'passing; skipping'
claim "a skip is said aloud" 0 "1 passed, 0 failed, 1 skipped" \
  'SKIPPED: Suite.Three: no "helm" here'

room one 'passing; skipping'
CI=true claim "a skip is a failure in CI" 1 "1 passed, 1 failed" "SKIPPED: "

room one passing
shell_test lazy 'echo "SKIPPED: no grpcurl"; exit 77'
claim "a shell test skips with status 77" 0 "1 passed, 0 failed, 1 skipped" "SKIPPED: no grpcurl"

shell_test bad 'echo the reason; exit 3'
claim "a failing shell test is shown" 1 "0 passed, 1 failed" "failed: dev/bad (release): status 3, the reason"

room one passing
rm "$ROOT/build/release/bin/headgate_one_tests"
claim "a binary that is not there is a failure" 1 "0 passed, 1 failed"

mkdir -p "$ROOT/tests/fuzz"
: >"$ROOT/tests/fuzz/one_fuzz.cc"
claim "a fuzzer that is not there is a failure" 1 "0 passed, 1 failed"

claim "no tests at all are a failure" 1 "0 passed, 1 failed"

room one passing
REGEX=Three claim "a filter that matches nothing is a failure" 1 "0 passed, 1 failed"

room one passing
shell_test other 'echo fine'
REGEX='Suite.One' claim "a filter leaves out the rest" 0 "1 passed, 0 failed"

# Each ends once both have begun, or after a minute.
both='echo begun >>order; for _ in {1..600}; do (($(grep -c begun order) < 2)) && sleep 0.1; done; echo ended >>order; passing'
room one "$both"
room two "$both"
shell_test flood '[[ $(tr "\n" " " <order) == "begun begun ended ended "* ]] && echo side by side'
HEADGATE_TEST_JOBS=2 claim "units run side by side" 0 "3 passed, 0 failed" "side by side"

room one passing
shell_test flood '[[ $(wc -l <order) == 2 ]] && echo "nothing else runs"'
room two 'sleep 0.2; echo begun >>order; echo ended >>order; passing'
HEADGATE_TEST_JOBS=3 claim "what needs quiet runs alone" 0 "3 passed, 0 failed" "nothing else runs"

room postgres 'echo "${HEADGATE_POSTGRES:-Debian}" >>folders; passing'
shell_test flood '[[ $(sort folders | tr "\n" " ") == "/pinned/18 Debian " ]] && echo with both'
claim "what talks to PostgreSQL runs with a pinned one, too" 0 "3 passed, 0 failed" "with both"

room postgres 'echo "${HEADGATE_POSTGRES:-Debian}" >>folders; passing'
room other 'echo "other ${HEADGATE_POSTGRES:-Debian}" >>folders; passing'
shell_test flood '[[ $(sort folders | tr "\n" " ") == "/pinned/14 /pinned/17 Debian other /pinned/17 other Debian " ]] && echo with all'
PLANTED_VERSIONS='14 17' PLANTED_UNITS=$'postgres .\nother . 17' claim "and with each of them, or those that it names" 0 \
  "6 passed, 0 failed" "with all"

room postgres 'echo "${HEADGATE_POSTGRES:-Debian}" >>folders; passing'
shell_test flood '[[ $(<folders) == Debian ]] && echo once'
POSTGRES_VERSION=15 claim "where a version is named, that is the only one" 0 "2 passed, 0 failed" "once"

room one 'echo "$@" >>arguments; passing'
shell_test flood '[[ $(tail -n 1 arguments) == *"--gtest_filter=Suite.Two" ]] && echo a part'
HEADGATE_TEST_JOBS=1 PLANTED_UNITS='one ^Suite.T' claim "of a folder, what talks to PostgreSQL does" 0 \
  "3 passed, 0 failed" "a part"

room one passing
REGEX=Suite.One PLANTED_UNITS='one ^Suite.T' claim "unless it is not chosen" 0 "1 passed, 0 failed"

room postgres passing
: >"$ROOT/no_python"
claim "a PostgreSQL that cannot be had is said aloud" 0 "1 passed, 0 failed, 1 skipped" "SKIPPED: it takes python3"

room postgres passing
: >"$ROOT/no_python"
CI=true claim "and is a failure in CI" 1 "1 passed, 1 failed" "failed: postgres@18 (release): skipped: it takes python3"

room one 'sleep 1.2; passing'
shell_test other 'echo fine'
claim "the slowest part is told" 0 "2 passed, 0 failed" "slowest parts"

room one 'kill -KILL $PPID; sleep 5'
claim "a unit whose runner is killed is a failure" 1 "0 passed, 1 failed"

room one passing
: >"$ROOT/build_fails"
claim "a failed build is a failure" 1 "0 passed, 1 failed"

# --- the plan ---

# Ours: whoever adds to what is short makes room in it first.
short_fits_its_budget() {
  local seconds
  # shellcheck disable=SC2317
  say() { echo "$*"; }
  # shellcheck source=tools/postgres.sh
  source tools/postgres.sh
  # shellcheck source=tools/test.sh
  source tools/test.sh
  seconds=$(planned_short_seconds)
  if ((seconds > SHORT_SECONDS)); then
    echo "what is short may take $seconds s by the plan, of $SHORT_SECONDS"
    exit 1
  fi
  [[ -z $(unplanned_units) ]] || { echo "units without a plan: $(unplanned_units)" && exit 1; }
}
(short_fits_its_budget)

# A machine that is half as fast gets half as much to do in the same time, but something always.
what_is_left_follows_the_pace() {
  local planned left
  # shellcheck disable=SC2317
  say() { echo "$*"; }
  # shellcheck source=tools/postgres.sh
  source tools/postgres.sh
  # shellcheck source=tools/test.sh
  source tools/test.sh
  CI_SECONDS=2700 CHECK_SECONDS=300 TEST_TIMES=$ROOT/times
  planned=$(planned_short_seconds)
  remember_time short all 1
  left="$(rest_seconds 900) "
  remember_time short all $((2 * planned))
  left+="$(rest_seconds 900) "
  remember_time short all "$planned"
  left+="$(rest_seconds 2700) $(rest_seconds 900)"
  [[ $left == "1500 600 300 1500" ]] || { echo "what is left of .ci/run is $left" && exit 1; }
}
(what_is_left_follows_the_pace)
CLAIMS=$((CLAIMS + 1))
CLAIMS=$((CLAIMS + 1))

room one passing
PLANTED_PLAN='' claim "a unit that the plan does not name is a failure" 1 "0 passed, 1 failed" "one: the plan in tools/test_plan.sh"

room one passing
room two passing
PLANTED_PLAN=$'one short:1 - -\ntwo ci:1 - -' claim "what is not short is left out" 0 "1 passed, 0 failed"

room one passing
room two passing
PLANTED_PLAN=$'one short:1 - -\ntwo ci:1 - -' RUN=ci claim "and .ci/run makes up for it" 0 "1 passed, 0 failed" "test two"

room one passing
room two passing
PLANTED_PLAN=$'one short:1 - -\ntwo long:1 - -' RUN=long claim "a long run has all" 0 "2 passed, 0 failed"

room one passing
claim "the budget is told" 0 "1 passed, 0 failed" "budget: short "

room one passing
mkdir -p "$ROOT/build"
printf 'release one 20\nrelease one 20\n' >"$ROOT/build/test_times"
claim "two times above the budget are chance" 0 "1 passed, 0 failed"

room one 'sleep 3.1; passing'
mkdir -p "$ROOT/build"
printf 'release one 20\nrelease one 1\nrelease one 3\nrelease one 9\n' >"$ROOT/build/test_times"
PLANTED_PLAN='one short:1 - -' claim "three in a row are said aloud" 0 "1 passed, 0 failed" "and may take 1: above it by half in 3 runs"

# --- what rotates ---

# Each of eleven units has its turn once in eight commits, and the others are named.
every_unit_has_its_turn() {
  local number plan='' output ran='' left
  for number in {1..11}; do
    room "unit$number" passing
    plan+="unit$number rotating:$number - -"$'\n'
  done
  for _ in {1..8}; do
    commit
    output=$(PLANTED_PLAN=$plan RUN=ci HEADGATE_BASE=HEAD run)
    ran+=$(sed -n 's/^test \(unit[0-9]*\) .*/\1/p' <<<"$output")$'\n'
    left=$(grep --only-matching 'left to other commits: .*' <<<"$output" | grep --only-matching --count 'unit') || true
    [[ $left == 1 ]] || { echo "what is left out is not named: $output" && exit 1; }
  done
  rm -rf "${ROOT:?}"/* "${ROOT:?}/.git"
  [[ $(sort <<<"$ran" | sed '/^$/d' | uniq --count | awk '$1 == 1' | wc -l) == 11 ]] ||
    { echo "not so: each unit runs once in eight commits: $ran" && exit 1; }
  CLAIMS=$((CLAIMS + 1))
}
every_unit_has_its_turn

# changed FILE UNITS: which of four units run when that file has changed.
changed() {
  local plan=$'engine rotating:1 - -\nline rotating:1 - -\ntls rotating:1 - -\ndev/go rotating:1 - -' output ran
  room engine passing
  room line passing
  room tls passing
  mkdir -p "$ROOT/tests/testing"
  echo '#include "tests/testing/certificates.h"' >>"$ROOT/tests/tls/a_test.cc"
  : >"$ROOT/tests/testing/certificates.h"
  shell_test go $'# Watches: client/go/ docs/go*\necho fine'
  commit
  mkdir -p "$ROOT/$(dirname "$1")"
  echo '// changed' >>"$ROOT/$1"
  output=$(PLANTED_PLAN=$plan RUN=changed HEADGATE_BASE=HEAD run) || true
  rm -rf "${ROOT:?}"/* "${ROOT:?}/.git"
  ran=$(sed -n -E 's/^(test )?([a-z/]+) .*passed, 0 failed.*/\2/p; s/^(dev\/go) .*/\1/p' <<<"$output" | sort | paste --serial --delimiters=' ')
  [[ $ran == "$2" ]] || { echo "not so: a change of $1 runs '$2', but '$ran': $output" && exit 1; }
  CLAIMS=$((CLAIMS + 1))
}
changed server/decide/line/line.cc 'line'
changed server/decide/engine/engine.cc 'engine line'
changed tests/engine/a_test.cc 'engine'
changed tests/testing/certificates.h 'tls'
changed docs/go_more.md 'dev/go'
changed docs/other.md ''
changed client/go/more.go 'dev/go'
changed common/identity.h 'engine line tls'

# Three units have changed, of which two go into the time; the one whose own files have changed is one of them.
more_than_fits() {
  local plan=$'engine rotating:1000 - -\nline rotating:1000 - -\nsqlite rotating:1000 - -' output
  room engine passing
  room line passing
  room sqlite passing
  commit
  mkdir -p "$ROOT/common" "$ROOT/server/remember/sqlite"
  echo '// changed' | tee "$ROOT/common/identity.h" >"$ROOT/server/remember/sqlite/sqlite.h"
  output=$(PLANTED_PLAN=$plan RUN=ci HEADGATE_BASE=HEAD run)
  rm -rf "${ROOT:?}"/* "${ROOT:?}/.git"
  if [[ $output != *$'\n2 passed, 0 failed' || $output != *"test sqlite "* ]] ||
    ! grep --quiet --extended-regexp 'left to the next commits: (engine|line) \(release\)$' <<<"$output"; then
    echo "not so: what does not go into a run is left, and named: $output"
    exit 1
  fi
  CLAIMS=$((CLAIMS + 1))
}
more_than_fits

echo "$CLAIMS claims about the test runner hold"
