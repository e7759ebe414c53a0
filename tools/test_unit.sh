# One unit of a test run: a gtest program, a fuzzer or a shell test, and what came out of it.
# shellcheck shell=bash

PASSED=0 FAILED=0 SKIPPED=0  # of this unit
FAILURES=()                  # the names of what failed of it

count_failed() { # count_failed NAME...
  FAILED=$((FAILED + $#))
  FAILURES+=("$@")
}

# A skip is said aloud, and is a failure where all tools must exist.
count_skipped() {
  echo "  SKIPPED: $1"
  if [[ ${CI:-} == true ]]; then
    echo "  a skipped test is a failure under CI=true"
    count_failed "skipped: $1"
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

# Where a unit's log, report and counts are, but for the ending.
unit_files() { echo "build/$1/test/${2//\//-}"; } # unit_files PRESET UNIT

# --- gtest ---

# gtest_filter BINARY UNIT: the chosen tests as gtest's filter; empty when there are none.
gtest_filter() {
  "${TEST_PREFIX[@]}" "$1" --gtest_list_tests |
    awk '/^[^ ].*\.( |$)/ { suite = $1 } /^  / { print suite $1 }' |
    { matching_tests "$2" || true; } | paste --serial --delimiters=:
}

# Prints one line for each test from gtest's XML: passed, failed and its name, or skipped and the reason.
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
    /^      <failure / { result = "failed " name }
    /^      <skipped / {
      reason = attribute("message")
      sub(/^[^&]*&#x0A;/, "", reason)
      gsub(/&#x0A;/, " ", reason); gsub(/&quot;/, "\"", reason); gsub(/&apos;/, "\047", reason)
      gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason); gsub(/&amp;/, "\\&", reason)
      if (result == "passed") result = "skipped " name ": " (reason == "" ? "no reason given" : reason)
    }
    END { close_case() }' "$1"
}

# What each failed test printed, from the log; of much, the beginning.
gtest_failures() {
  awk '
    function show() {
      printf "%s", text
      if (lines > 60) printf "... and %d lines more; they are in the log\n", lines - 60
    }
    /^\[ RUN      \]/ { if (text ~ /: Failure\n/) show(); text = ""; lines = 0 }
    { if (++lines <= 60) text = text $0 "\n" }
    /^\[       OK \]|^\[  SKIPPED \]|^\[-----/ { text = ""; lines = 0 }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { show(); text = ""; lines = 0 }' "$1"
}

# A program that ended before it could write its results.
gtest_crashed() {
  local log=$1 status=$2 began=$3 passed
  passed=$(grep --count '^\[       OK \]' "$log") || true
  PASSED=$((PASSED + passed))
  count_failed "$(sed -n 's/^\[ RUN      \] //p' "$log" | tail --lines=1) ended it with status $status"
  outcome "$passed passed, then it ended with status $status" "$began"
  tail --lines=80 "$log"
}

gtest_finished() {
  local out=$1 status=$2 began=$3 results passed failed reason
  results=$(gtest_results "$out.xml")
  passed=$(grep --count '^passed' <<<"$results") || true
  mapfile -t failed < <(sed -n 's/^failed //p' <<<"$results")
  PASSED=$((PASSED + passed))
  count_failed ${failed[@]+"${failed[@]}"}
  outcome "$passed passed, ${#failed[@]} failed" "$began"
  if ((${#failed[@]})); then gtest_failures "$out.log"; fi
  while read -r reason; do count_skipped "$reason"; done < <(sed -n 's/^skipped //p' <<<"$results")
  # Such as a sanitizer's report at exit, after the last test.
  if ((status != 0 && ${#failed[@]} == 0)); then
    count_failed "status $status after the last test"
    echo "no test failed, but the program ended with status $status"
    tail --lines=80 "$out.log"
  fi
}

run_gtest() { # run_gtest PRESET UNIT
  local preset=$1 unit=$2 status=0 began=$SECONDS filter some out
  local binary="build/$preset/bin/headgate_${unit%@*}_tests"
  out=$(unit_files "$preset" "$unit")
  some=$(sanitized_tests "$preset" "$unit")
  filter=${some:-*}
  if [[ -n $TEST_REGEX || $unit == *@* ]]; then
    filter=$(gtest_filter "$binary" "$unit") || filter='*'
    [[ -n $filter ]] || return 0
    some=
  fi
  rm -f "$out.xml"
  started "test $unit"
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
  if [[ -n $some && -s $out.xml ]]; then echo "  of its tests only $some; all of them with --long"; fi
}

# --- fuzzers and shell tests: one test each ---

# run_whole NAME LOG COMMAND...
run_whole() {
  local name=$1 log=$2 status=0 began=$SECONDS
  shift 2
  started "$name"
  run_logged "$log" "$@" || status=$?
  if ((status == 0)); then
    PASSED=$((PASSED + 1))
    outcome "$(tail --lines=1 "$log")" "$began"
  elif ((status == 77)); then
    outcome "skipped" "$began"
    count_skipped "$(tail --lines=1 "$log" | sed 's/^SKIPPED: *//')"
  else
    count_failed "status $status, $(tail --lines=1 "$log" | cut --characters=-200)"
    outcome "FAILED with status $status" "$began"
    tail --lines=80 "$log"
  fi
}

run_fuzzer() { # run_fuzzer PRESET NAME OUT
  local preset=$1 name=$2 out=$3
  rm -f "$out.crash"
  run_whole "fuzz/$name" "$out.log" "${TEST_PREFIX[@]}" "build/$preset/bin/headgate-fuzz-$name" \
    --seconds="${HEADGATE_FUZZ_SECONDS:-1}" --seed="${HEADGATE_FUZZ_SEED:-1}" \
    --crash-file="$out.crash" "tests/fuzz/corpus/$name"
  if [[ -e $out.crash ]]; then echo "the input that failed: $out.crash"; fi
}

# --- with another PostgreSQL than Debian's ---

# find_postgres UNIT: the one that "postgres@18" names is there, and what the unit runs finds it. A failure
# is told and counted.
find_postgres() {
  local version=${1#*@} status=0 began=$SECONDS reason
  [[ $1 == *@* ]] || return 0
  reason=$(require_postgres "$version" 2>&1) || status=$?
  if ((status == 0)); then
    HEADGATE_POSTGRES=$(postgres_folder "$version")
    export HEADGATE_POSTGRES
    return 0
  fi
  started "$1"
  if ((status == 77)); then
    outcome "skipped" "$began"
    count_skipped "$(tail --lines=1 <<<"$reason")"
  else
    count_failed "no PostgreSQL $version"
    outcome "FAILED with status $status" "$began"
    echo "$reason"
  fi
  return 1
}

# run_unit PRESET UNIT: in a shell of its own. Its output goes to the unit's report, its counts and seconds
# beside it, and the names of what failed.
run_unit() {
  local preset=$1 unit=$2 out began=$SECONDS
  out=$(unit_files "$preset" "$unit")
  rm -f "$out.counts"
  PASSED=0 FAILED=0 SKIPPED=0 FAILURES=()
  if find_postgres "$unit"; then
    case $unit in
      fuzz/*) run_fuzzer "$preset" "${unit#fuzz/}" "$out" ;;
      dev/*)
        HEADGATE_BIN="$PWD/build/$preset/bin" run_whole "$unit" "$out.log" bash "tests/${unit%@*}.sh"
        ;;
      *) run_gtest "$preset" "$unit" ;;
    esac
  fi >"$out.report" 2>&1
  printf '%s\n' ${FAILURES[@]+"${FAILURES[@]}"} >"$out.failed"
  echo "$PASSED $FAILED $SKIPPED $((SECONDS - began))" >"$out.counts"
}
