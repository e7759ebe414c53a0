# The test runner: builds what is to be run, runs it side by side, and adds up what came out.
#
# A unit is one program of tests: the gtest program of a folder of tests/ ("engine"), a fuzzer
# ("fuzz/config"), or a shell test ("dev/docs"). Each writes a report and its counts to files of its own
# in build/PRESET/test, and is shown when it ends.
# shellcheck shell=bash

# shellcheck source=tools/slowest.sh
source tools/slowest.sh
# shellcheck source=tools/test_plan.sh
source tools/test_plan.sh
# shellcheck source=tools/test_budget.sh
source tools/test_budget.sh
# shellcheck source=tools/test_unit.sh
source tools/test_unit.sh

TOTAL_PASSED=0 TOTAL_FAILED=0 TOTAL_SKIPPED=0
TEST_REGEX=     # -k: only tests whose name matches; empty means all.
TEST_UNITS=()   # Named on the command line; none means all.
TEST_LONG=      # --long: what takes time, too.
TEST_PREFIX=()  # A command that test binaries are run with.
OWN_TEMPLATE=   # The folder with PostgreSQL's new data folder, if this run made it.
TEST_BASE=      # --changed: since which commit.
PARTS=()        # "SECONDS WHAT", for the table of the slowest.
FAILED_TESTS=() # "UNIT (PRESET): NAME" of each that failed.
RUN_UNITS=()    # "PRESET UNIT" of what has run.
TEST_SECONDS=0  # What tests took, builds aside.

summary() {
  local skipped=
  if ((TOTAL_SKIPPED)); then skipped=", $TOTAL_SKIPPED skipped"; fi
  echo "$TOTAL_PASSED passed, $TOTAL_FAILED failed$skipped"
}

# Whatever goes wrong, the last line of output says how it ended.
finish_tests() {
  local status=$? unit
  trap - EXIT
  # A unit's program goes with its shell.
  for unit in $(jobs -p); do pkill -TERM -P "$unit" 2>/dev/null || true; done
  rm -rf "$OWN_TEMPLATE"
  if ((status != 0 && TOTAL_FAILED == 0)); then TOTAL_FAILED=1; fi
  if ((TOTAL_PASSED + TOTAL_FAILED + TOTAL_SKIPPED == 0)); then
    say "there are no tests${TEST_REGEX:+ that match $TEST_REGEX}"
    TOTAL_FAILED=1
  fi
  # Of units that ran side by side, the times add up to more than the whole took.
  slowest_parts 12 "slowest parts, of $SECONDS s in all:" ${PARTS[@]+"${PARTS[@]}"}
  tell_budget
  tell_failed ${FAILED_TESTS[@]+"${FAILED_TESTS[@]}"}
  summary
  exit $((TOTAL_FAILED > 0))
}

# What went wrong, once more at the end: whoever has only the last lines of a log has the names.
tell_failed() { # tell_failed WHAT...
  (($#)) || return 0
  printf 'failed: %s\n' "$@"
}

# How much of what it may take a run took, and what takes more than its own part; of .ci/run the last one here.
tell_budget() {
  ((${#RUN_UNITS[@]} == 0)) || printf '%s\n' "${RUN_UNITS[@]}" | above_budget
  local ci
  if [[ $TEST_RUN == short ]]; then
    ci=$(awk '$1 == "ci" { last = $3 } END { print last == "" ? "never run here" : last }' "$TEST_TIMES" 2>/dev/null) || ci='never run here'
    remember_time short all "$TEST_SECONDS"
    say "budget: short $TEST_SECONDS of $SHORT_SECONDS s, ci $ci of $CI_SECONDS s"
  fi
}

# --- side by side ---

report_unit() { # report_unit PRESET UNIT
  local out passed failed skipped seconds
  out=$(unit_files "$1" "$2")
  cat "$out.report"
  if read -r passed failed skipped seconds 2>/dev/null <"$out.counts"; then
    TOTAL_PASSED=$((TOTAL_PASSED + passed)) TOTAL_FAILED=$((TOTAL_FAILED + failed))
    TOTAL_SKIPPED=$((TOTAL_SKIPPED + skipped))
    PARTS+=("$seconds $2 ($1)")
    RUN_UNITS+=("$1 $2")
    if ((passed && failed == 0)); then remember_time "$1" "$2" "$seconds"; fi
    mapfile -t -O "${#FAILED_TESTS[@]}" FAILED_TESTS < <(awk -v what="$2 ($1): " '/./ { print what $0 }' "$out.failed")
  else
    say "$2 did not come to its end"
    TOTAL_FAILED=$((TOTAL_FAILED + 1))
    FAILED_TESTS+=("$2 ($1): did not come to its end")
  fi
}

run_side_by_side() { # run_side_by_side PRESET JOBS UNIT...
  local preset=$1 jobs=$2 process
  local -A running=()
  shift 2
  while (($# + ${#running[@]})); do
    while (($# && ${#running[@]} < jobs)); do
      run_unit "$preset" "$1" &
      running[$!]=$1
      shift
    done
    sleep 0.1  # `wait -n` overlooks a process that has ended before it is called
    for process in "${!running[@]}"; do
      if kill -0 "$process" 2>/dev/null; then continue; fi
      report_unit "$preset" "${running[$process]}"
      unset "running[$process]"
    done
  done
}

# Most tests wait for something most of the time: one more than there are processors.
test_jobs() { echo "${HEADGATE_TEST_JOBS:-$(($(nproc) + 1))}"; }

# run_tests PRESET UNIT...: those that need quiet come last, one at a time.
run_tests() {
  local preset=$1 unit together=() alone=() began=$SECONDS
  shift
  # Servers that tests start have an HTTP port only where a test asks for one: 8080 may be taken.
  export HEADGATE_HTTP_ADDRESS=off
  # Whichever test starts PostgreSQL first leaves its new data folder there for the others.
  if [[ -z ${HEADGATE_POSTGRES_TEMPLATE:-} ]]; then
    OWN_TEMPLATE=$(mktemp --directory --tmpdir headgate-pg-template-XXXXXX)
    export HEADGATE_POSTGRES_TEMPLATE=$OWN_TEMPLATE
  fi
  mkdir -p "build/$preset/test"
  for unit; do
    if needs_quiet "$unit"; then alone+=("$unit"); else together+=("$unit"); fi
  done
  run_side_by_side "$preset" "$(test_jobs)" ${together[@]+"${together[@]}"}
  run_side_by_side "$preset" 1 ${alone[@]+"${alone[@]}"}
  TEST_SECONDS=$((TEST_SECONDS + SECONDS - began))
}

# --- presets ---

# choose_run RUN: of short, when there is none, what the command line names. What has changed is looked at once.
choose_run() {
  TEST_RUN=${1:-short}
  if [[ $TEST_RUN == short && (-n $TEST_REGEX || ${#TEST_UNITS[@]} -gt 0) ]]; then TEST_RUN=named; fi
  if [[ $TEST_RUN == long ]]; then TEST_LONG=1; fi
  if [[ $TEST_RUN == ci || $TEST_RUN == changed ]]; then
    CHANGED_UNITS=$(changed_units)
    CHANGED_THEMSELVES=$(changed_units itself)
    say "changed since $(base_of_changes): $(in_one_line <<<"$CHANGED_UNITS")"
  fi
  if [[ $TEST_RUN == ci ]]; then
    if [[ -n ${HEADGATE_CI_TOOK:-} ]]; then REST_SECONDS=$(rest_seconds "$HEADGATE_CI_TOOK"); fi
    say "turn $(($(commit_count) % ROTATION)) of $ROTATION; left to other commits: $(left_to_others | in_one_line)"
    say "changed, and more than goes into $REST_SECONDS s, so left to the next commits: $(left_to_others changed | in_one_line)"
  fi
}

in_one_line() { paste --serial --delimiters=' ' | sed 's/^$/nothing/'; }

# A unit without a line in the plan is in no run, and would never be missed.
refuse_unplanned() {
  local unit
  for unit in $(unplanned_units); do
    say "$unit: the plan in tools/test_plan.sh has no line for it: which runs does it belong to, and what may it cost?"
    TOTAL_FAILED=$((TOTAL_FAILED + 1))
    FAILED_TESTS+=("$unit: no line in the plan")
  done
}

# set_amounts LONG_SCALE LONG_FUZZ_SECONDS: how much of its usual number of steps and rounds a test
# does, and how long a fuzzer runs. A short run takes a tenth, and a second; the environment's own word
# goes before both.
OWN_SCALE=${HEADGATE_TEST_SCALE:-} OWN_FUZZ_SECONDS=${HEADGATE_FUZZ_SECONDS:-}
set_amounts() {
  local scale=0.1 seconds=1
  if [[ -n $TEST_LONG ]]; then scale=$1 seconds=$2; fi
  export HEADGATE_TEST_SCALE=${OWN_SCALE:-$scale} HEADGATE_FUZZ_SECONDS=${OWN_FUZZ_SECONDS:-$seconds}
  export HEADGATE_LONG=$TEST_LONG
}

# build_and_run PRESET: what is wanted of it.
build_and_run() {
  local preset=$1 units targets=() began=$SECONDS
  mapfile -t units < <(wanted_units "$preset")
  ((${#units[@]})) || return 0
  mapfile -t targets < <(targets_of "${units[@]}")
  if ((${#targets[@]} == 0)); then
    run_tests "$preset" "${units[@]}"  # scripts that need nothing of ours
    return
  fi
  if ! build_preset "$preset" "${targets[@]}"; then
    TOTAL_FAILED=$((TOTAL_FAILED + 1))
    FAILED_TESTS+=("build ($preset)")
    return
  fi
  PARTS+=("$((SECONDS - began)) build ($preset)")
  if [[ $preset == asan ]]; then set_leak_detection; fi
  run_tests "$preset" "${units[@]}"
}

test_release() {
  set_amounts 1 10
  refuse_unplanned
  build_and_run release
}

# LeakSanitizer needs ptrace, which some containers refuse.
set_leak_detection() {
  local binary
  for binary in build/asan/bin/headgate_*_tests; do
    if ASAN_OPTIONS=detect_leaks=1 "$binary" --gtest_list_tests 2>&1 |
      grep --quiet 'LeakSanitizer has encountered a fatal error'; then
      say "leaks are not looked for: this machine forbids ptrace"
      export ASAN_OPTIONS+=":detect_leaks=0"
    fi
    return
  done
}

test_asan() {
  export ASAN_OPTIONS="halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1"
  ASAN_OPTIONS+=":check_initialization_order=1"
  export LSAN_OPTIONS="suppressions=$PWD/tests/lsan_suppressions.txt:print_suppressions=0"
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  build_and_run asan
}

test_tsan() {
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  # ThreadSanitizer's fixed memory layout does not bear every kernel's randomisation.
  if setarch --addr-no-randomize true 2>/dev/null; then TEST_PREFIX=(setarch --addr-no-randomize); fi
  build_and_run tsan
  TEST_PREFIX=()
}

# Instrumented code is slow: also a long run takes a tenth of the steps.
test_sanitizers() {
  set_amounts 0.1 120
  test_asan
  test_tsan
}
