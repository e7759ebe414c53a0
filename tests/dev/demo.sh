#!/usr/bin/env bash
# The demonstration and that of several servers, shortened: what they end with, also where nothing may yield, and that
# nothing is left of them, even if they are stopped half-way.
# Watches: tests/demo/ server/observe/ server/decide/ server/share/ client/agent/
# Needs: headgate-demo headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "FAILED: $*"
  exit 1
}

WORK=$(mktemp --directory)
DEMO=
SKIPPED=
cleanup() {
  if [[ -n $DEMO ]]; then kill -KILL "$DEMO" 2>/dev/null || true; fi
  rm -rf "$WORK"
}
trap cleanup EXIT
chmod 755 "$WORK"
mkdir -m 755 "$WORK/tmp"

BEFORE=() # a command that becomes the demo

start_demo() { # start_demo ARGS...: in the background, with what it prints in $WORK/out
  : >"$WORK/out"
  TMPDIR="$WORK/tmp" ${BEFORE[@]+"${BEFORE[@]}"} "$HEADGATE_BIN/headgate-demo" --plot "$WORK/demo.svg" "$@" \
    >"$WORK/out" 2>&1 &
  DEMO=$!
}

ends_well() {
  wait "$DEMO" || fail "it ended with $?: $(cat "$WORK/out")"
  DEMO=
}

# Why nothing yielded, if so.
why_not() { sed -n 's/^Nothing yields here, so that part is left out; the agent says: //p' "$WORK/out" | tail --lines=1; }

# Its servers, the agent with the child that would restore sessions, and their folder carry the name of the temporary
# folder.
nothing_is_left() {
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    if [[ -z $(ls "$WORK/tmp") ]] && ! pgrep --full "$WORK/tmp" >/dev/null; then return; fi
    sleep 0.1
  done
  fail "still there: $(ls "$WORK/tmp") $(pgrep --full --list-full "$WORK/tmp")"
}

# The last line ends with yield_ratio=YIELD and so on.
last_line_has() { # last_line_has YIELD
  local last number='[0-9]+(\.[0-9]+)?' pattern name
  pattern='^demo:'
  for name in alone_tps greedy_ratio throttled_ratio throttled_p99_ratio backfill_rows_per_s best_fixed_rows_per_s \
    batch_share; do pattern+=" $name=$number"; done
  for name in ratio p99_ratio rows_per_s gain; do pattern+=" yield_$name=$1"; done
  last=$(tail --lines=1 "$WORK/out")
  [[ $last =~ $pattern$ ]] || fail "the last line is: $last"
}

# Sessions yield in the phases that are called so, and in no other.
who_yielded() {
  awk -F, '
    NR > 1 && $2 ~ /^yield/ && $NF > 0 { yielded = 1 }
    NR > 1 && $2 !~ /^yield|^pause|^alone/ && $NF > 0 { print "sessions yield in: " $0; exit }
    END { if (!yielded) print "no session yields" }' "$WORK/series.csv"
}

it_ends_with_its_figures() {
  start_demo --pace 0.15 --series "$WORK/series.csv"
  ends_well
  if [[ -n $(why_not) ]]; then
    [[ $(why_not) == *'SCHED_IDLE: '* ]] || fail "nothing yielded, and not for what the agent tried: $(cat "$WORK/out")"
    last_line_has n/a
    SKIPPED=$(why_not)
  else
    last_line_has '[0-9]+(\.[0-9]+)?'
    [[ -z $(who_yielded) ]] || fail "$(who_yielded)"
  fi
  grep --quiet '</svg>' "$WORK/demo.svg" || fail "there is no plot"
  nothing_is_left
}

# Elsewhere than as root it has done without in any case.
without_the_privilege_it_leaves_out_what_it_cannot_show() {
  ((EUID == 0)) || return 0
  BEFORE=(setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice)
  start_demo --pace 0.1
  BEFORE=()
  ends_well
  [[ $(why_not) == *'(CAP_SYS_NICE is missing)'* ]] || fail "it does not say what is missing: $(cat "$WORK/out")"
  grep --quiet '^yield and rate  *left out: nothing yields here$' "$WORK/out" || fail "$(cat "$WORK/out")"
  last_line_has n/a
  nothing_is_left
}

three_servers_end_with_their_figures() {
  local last
  start_demo --servers --pace 0.2
  ends_well
  last=$(tail --lines=1 "$WORK/out")
  [[ $last =~ ^servers:\ failed_checks=0\ over_admitted=0\ longest_gap_ms=[0-9]+\  ]] ||
    fail "the last line is: $last: $(cat "$WORK/out")"
  [[ $(grep --count --extended-regexp 'headgate-[0-2] (is killed|is started again|is stopped|goes on|is upgraded)' \
    "$WORK/out") == 5 ]] || fail "not all has happened: $(cat "$WORK/out")"
  grep --quiet '</svg>' "$WORK/demo.svg" || fail "there is no picture of the servers"
  nothing_is_left
}

# While sessions yield, if they do.
it_stops_when_it_is_told_to() {
  local status=0 tries
  start_demo --pace 0.2
  for ((tries = 0; tries < 1800; tries++)); do
    if grep --quiet --extended-regexp 's  yield and rate|^Nothing yields' "$WORK/out"; then break; fi
    kill -0 "$DEMO" 2>/dev/null || break
    sleep 0.1
  done
  kill -TERM "$DEMO" || fail "it ended by itself: $(cat "$WORK/out")"
  wait "$DEMO" || status=$?
  DEMO=
  ((status == 130)) || fail "it ended with $status: $(cat "$WORK/out")"
  nothing_is_left
}

it_cannot_write_there() {
  local out status=0
  out=$("$HEADGATE_BIN/headgate-demo" --plot "$WORK/nowhere/demo.svg" 2>&1) || status=$?
  [[ $status == 1 && $out == "demo: cannot write $WORK/nowhere/demo.svg" ]] ||
    fail "a plot that cannot be written gives $status: $out"
}

it_cannot_write_there
it_stops_when_it_is_told_to
it_ends_with_its_figures
without_the_privilege_it_leaves_out_what_it_cannot_show
three_servers_end_with_their_figures
tail --lines=1 "$WORK/out"
if [[ -n $SKIPPED ]]; then
  echo "skipped what yields: $SKIPPED"
  exit 77
fi
