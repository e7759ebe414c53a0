#!/usr/bin/env bash
# The test runner counts honestly: nothing that went wrong ends in "0 failed".
# Code of the stand-ins is expanded when they run.
# shellcheck disable=SC2016
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

# Runs the runner on the planted tree, in which everything counts as built.
run() {
  # shellcheck disable=SC2317
  say() { echo "$*"; }
  # shellcheck source=tools/postgres.sh
  source tools/postgres.sh
  # shellcheck source=tools/test.sh
  source tools/test.sh
  cd "$ROOT"
  POSTGRES_UNITS=${PLANTED_UNITS:-$POSTGRES_UNITS}
  build_preset() { [[ ! -e build_fails ]]; }
  # shellcheck disable=SC2317
  require_postgres() { [[ ! -e no_python ]] || { echo "it takes python3" && return 77; }; }
  # shellcheck disable=SC2317
  postgres_folder() { echo "/pinned/$1"; }
  TEST_REGEX=${1:-}
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
claim "a failing shell test is shown" 1 "0 passed, 1 failed" "the reason"

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

room one 'echo begun >>order; sleep 0.3; echo ended >>order; passing'
room two 'echo begun >>order; sleep 0.3; echo ended >>order; passing'
shell_test last '[[ $(tr "\n" " " <order) == "begun begun ended ended "* ]] && echo side by side'
HEADGATE_TEST_JOBS=2 claim "units run side by side" 0 "3 passed, 0 failed" "side by side"

room one passing
shell_test flood '[[ $(wc -l <order) == 2 ]] && echo "nothing else runs"'
room two 'sleep 0.2; echo begun >>order; echo ended >>order; passing'
HEADGATE_TEST_JOBS=3 claim "what needs quiet runs alone" 0 "3 passed, 0 failed" "nothing else runs"

room postgres 'echo "${HEADGATE_POSTGRES:-Debian}" >>folders; passing'
shell_test flood '[[ $(sort folders | tr "\n" " ") == "/pinned/18 Debian " ]] && echo with both'
claim "what talks to PostgreSQL runs with the newest, too" 0 "3 passed, 0 failed" "with both"

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
CI=true claim "and is a failure in CI" 1 "1 passed, 1 failed" "SKIPPED: it takes python3"

room one 'sleep 1.2; passing'
shell_test other 'echo fine'
claim "the slowest part is told" 0 "2 passed, 0 failed" "slowest parts"

room one 'kill -KILL $PPID; sleep 5'
claim "a unit whose runner is killed is a failure" 1 "0 passed, 1 failed"

room one passing
: >"$ROOT/build_fails"
claim "a failed build is a failure" 1 "0 passed, 1 failed"

echo "$CLAIMS claims about the test runner hold"
