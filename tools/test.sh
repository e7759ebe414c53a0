# The test runner: gtest binaries, fuzzers and shell tests of one preset.
# shellcheck shell=bash

PASSED=0 FAILED=0 SKIPPED=0
TEST_REGEX=       # -k: only tests whose name matches; empty means all.
TEST_PREFIX=()    # A command that test binaries are run with.

summary() {
  local skipped=
  if ((SKIPPED)); then skipped=", $SKIPPED skipped"; fi
  echo "$PASSED passed, $FAILED failed$skipped"
}

# Whatever goes wrong, the last line of output says how it ended.
finish_tests() {
  local status=$?
  trap - EXIT
  if ((status != 0 && FAILED == 0)); then FAILED=1; fi
  if ((PASSED + FAILED + SKIPPED == 0)); then
    say "there are no tests${TEST_REGEX:+ that match $TEST_REGEX}"
    FAILED=1
  fi
  summary
  exit $((FAILED > 0))
}

selected() {
  [[ -z $TEST_REGEX ]] || grep --quiet --extended-regexp -e "$TEST_REGEX" <<<"$1"
}

# A skip is said aloud, and is a failure where all tools must exist.
count_skipped() {
  echo "  SKIPPED: $1"
  if [[ ${CI:-} == true ]]; then
    echo "  a skipped test is a failure under CI=true"
    FAILED=$((FAILED + 1))
  else
    SKIPPED=$((SKIPPED + 1))
  fi
}

# run_logged LOG COMMAND...: runs within the time limit; the exit status is the command's.
run_logged() {
  local log=$1
  shift
  timeout --foreground --kill-after=10 "${HEADGATE_TEST_TIMEOUT:-1800}" "$@" >"$log" 2>&1 </dev/null
}

started() { printf '%-28s' "$1"; }

outcome() {
  local seconds=$((SECONDS - $2))
  echo "$1, $seconds s"
}

# --- gtest ---

# The chosen tests of a binary as gtest's filter; empty when there are none.
gtest_filter() {
  "$1" --gtest_list_tests |
    awk '/^[^ ].*\.( |$)/ { suite = $1 } /^  / { print suite $1 }' |
    { grep --extended-regexp -e "$TEST_REGEX" || true; } | paste --serial --delimiters=:
}

# Prints one line for each test from gtest's XML: passed, failed, or skipped and the reason.
gtest_results() {
  awk '
    function attribute(name,   parts) {
      split($0, parts, " " name "=\"")
      sub(/".*/, "", parts[2])
      return parts[2]
    }
    function close_case() {
      if (result != "") print result
      result = ""
    }
    /^    <testcase / {
      close_case()
      name = attribute("classname") "." attribute("name")
      result = /result="suppressed"/ ? "skipped " name ": disabled" : "passed"
    }
    /^      <failure / { result = "failed" }
    /^      <skipped / {
      reason = attribute("message")
      sub(/^[^&]*&#x0A;/, "", reason)
      gsub(/&#x0A;/, " ", reason); gsub(/&quot;/, "\"", reason); gsub(/&apos;/, "\047", reason)
      gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason); gsub(/&amp;/, "\\&", reason)
      if (result == "passed") result = "skipped " name ": " (reason == "" ? "no reason given" : reason)
    }
    END { close_case() }' "$1"
}

# What each failed test printed, from the log.
gtest_failures() {
  awk '
    /^\[ RUN      \]/ { if (text ~ /: Failure\n/) printf "%s", text; text = "" }
    { text = text $0 "\n" }
    /^\[       OK \]|^\[  SKIPPED \]|^\[-----/ { text = "" }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { printf "%s", text; text = "" }' "$1"
}

# A program that ended before it could write its results.
gtest_crashed() {
  local log=$1 status=$2 began=$3 passed
  passed=$(grep --count '^\[       OK \]' "$log") || true
  PASSED=$((PASSED + passed))
  FAILED=$((FAILED + 1))
  outcome "$passed passed, then it ended with status $status" "$began"
  tail --lines=80 "$log"
}

gtest_finished() {
  local out=$1 status=$2 began=$3 results passed failed reason
  results=$(gtest_results "$out.xml")
  passed=$(grep --count '^passed' <<<"$results") || true
  failed=$(grep --count '^failed' <<<"$results") || true
  PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed))
  outcome "$passed passed, $failed failed" "$began"
  if ((failed)); then gtest_failures "$out.log"; fi
  while read -r reason; do count_skipped "$reason"; done < <(sed -n 's/^skipped //p' <<<"$results")
  # Such as a sanitizer's report at exit, after the last test.
  if ((status != 0 && failed == 0)); then
    FAILED=$((FAILED + 1))
    echo "no test failed, but the program ended with status $status"
    tail --lines=80 "$out.log"
  fi
}

run_gtest() {
  local preset=$1 room=$2 status=0 began=$SECONDS filter='*'
  local binary="build/$preset/bin/headgate_${room}_tests" out="build/$preset/test/$room"
  if [[ -n $TEST_REGEX ]]; then
    filter=$(gtest_filter "$binary") || filter='*'
    [[ -n $filter ]] || return 0
  fi
  rm -f "$out.xml"
  started "test $room"
  run_logged "$out.log" "${TEST_PREFIX[@]}" "$binary" --gtest_color=no \
    --gtest_output="xml:$out.xml" --gtest_filter="$filter" || status=$?
  if ((status == 77)); then
    outcome "skipped" "$began"
    count_skipped "$(tail --lines=1 "$out.log")"
  elif [[ -s $out.xml ]]; then
    gtest_finished "$out" "$status" "$began"
  else
    gtest_crashed "$out.log" "$status" "$began"
  fi
}

# --- fuzzers and shell tests: one test each ---

# run_whole NAME LOG COMMAND...
run_whole() {
  local name=$1 log=$2 status=0 began=$SECONDS
  shift 2
  selected "$name" || return 0
  started "$name"
  run_logged "$log" "$@" || status=$?
  if ((status == 0)); then
    PASSED=$((PASSED + 1))
    outcome "$(tail --lines=1 "$log")" "$began"
  elif ((status == 77)); then
    outcome "skipped" "$began"
    count_skipped "$(tail --lines=1 "$log" | sed 's/^SKIPPED: *//')"
  else
    FAILED=$((FAILED + 1))
    outcome "FAILED with status $status" "$began"
    tail --lines=80 "$log"
  fi
}

run_fuzzer() {
  local preset=$1 name=$2 out="build/$1/test/fuzz-$2"
  rm -f "$out.crash"
  run_whole "fuzz/$name" "$out.log" "${TEST_PREFIX[@]}" "build/$preset/bin/headgate-fuzz-$name" \
    --seconds="${HEADGATE_FUZZ_SECONDS:-10}" --seed="${HEADGATE_FUZZ_SEED:-1}" \
    --crash-file="$out.crash" "tests/fuzz/corpus/$name"
  if [[ -e $out.crash ]]; then echo "the input that failed: $out.crash"; fi
}

run_shell_test() {
  local preset=$1 file=$2 name
  name=dev/$(basename "$file" .sh)
  HEADGATE_BIN="$PWD/build/$preset/bin" \
    run_whole "$name" "build/$preset/test/${name/\//-}.log" bash "$file"
}

# --- presets ---

test_rooms() {
  local file
  for file in tests/*/*_test.cc; do
    if [[ -e $file ]]; then basename "$(dirname "$file")"; fi
  done | sort --unique
}

# run_tests PRESET: everything that is built in it.
run_tests() {
  local preset=$1 room file
  # Servers that tests start have an HTTP port only where a test asks for one: 8080 may be taken.
  export HEADGATE_HTTP_ADDRESS=off
  mkdir -p "build/$preset/test"
  for room in $(test_rooms); do run_gtest "$preset" "$room"; done
  for file in tests/fuzz/*_fuzz.cc; do
    if [[ -e $file ]]; then run_fuzzer "$preset" "$(basename "$file" _fuzz.cc)"; fi
  done
  for file in tests/dev/*.sh; do
    if [[ -e $file ]]; then run_shell_test "$preset" "$file"; fi
  done
}

build_or_fail() {
  if build_preset "$@"; then return 0; fi
  FAILED=$((FAILED + 1))
  return 1
}

test_release() {
  export HEADGATE_TEST_SCALE="${HEADGATE_TEST_SCALE:-1}"
  if build_or_fail release; then run_tests release; fi
}

# LeakSanitizer needs ptrace, which some containers refuse.
leaks_detectable() {
  local binary
  for binary in build/asan/bin/headgate_*_tests; do
    ! ASAN_OPTIONS=detect_leaks=1 "$binary" --gtest_list_tests 2>&1 |
      grep --quiet 'LeakSanitizer has encountered a fatal error' || return 1
  done
}

test_asan() {
  local leaks=1
  build_or_fail asan || return 0
  if ! leaks_detectable; then
    say "leaks are not looked for: this machine forbids ptrace"
    leaks=0
  fi
  export ASAN_OPTIONS="halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1"
  ASAN_OPTIONS+=":check_initialization_order=1:detect_leaks=$leaks"
  export LSAN_OPTIONS="suppressions=$PWD/tests/lsan_suppressions.txt:print_suppressions=0"
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  run_tests asan
}

# The engine and the log of what it decides, where threads share without locks. Debian's libraries
# are not instrumented, and through the larger of them ThreadSanitizer reports races that are none.
test_tsan() {
  build_or_fail tsan headgate_engine_tests headgate_throttle_log_tests || return 0
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  # ThreadSanitizer's fixed memory layout does not bear every kernel's randomisation.
  if setarch --addr-no-randomize true 2>/dev/null; then TEST_PREFIX=(setarch --addr-no-randomize); fi
  mkdir -p build/tsan/test
  run_gtest tsan engine
  run_gtest tsan throttle_log
  TEST_PREFIX=()
}

test_sanitizers() {
  # Instrumented code is slow: random-action tests take fewer steps.
  export HEADGATE_TEST_SCALE="${HEADGATE_TEST_SCALE:-0.1}"
  test_asan
  test_tsan
}
