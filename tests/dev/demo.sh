#!/usr/bin/env bash
# The demonstration and that of several servers, shortened: what they end with, and that nothing is left of them, even
# if they are stopped half-way.
# Watches: tests/demo/ server/observe/ server/decide/ server/share/
# Needs: headgate-demo headgated
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "FAILED: $*"
  exit 1
}

WORK=$(mktemp --directory)
DEMO=
cleanup() {
  if [[ -n $DEMO ]]; then kill -KILL "$DEMO" 2>/dev/null || true; fi
  rm -rf "$WORK"
}
trap cleanup EXIT
chmod 755 "$WORK"
mkdir -m 755 "$WORK/tmp"

start_demo() { # start_demo ARGS...: in the background, with what it prints in $WORK/out
  : >"$WORK/out"
  TMPDIR="$WORK/tmp" "$HEADGATE_BIN/headgate-demo" --plot "$WORK/demo.svg" "$@" >"$WORK/out" 2>&1 &
  DEMO=$!
}

# Its servers and their folder carry the name of the temporary folder.
nothing_is_left() {
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    if [[ -z $(ls "$WORK/tmp") ]] && ! pgrep --full "$WORK/tmp" >/dev/null; then return; fi
    sleep 0.1
  done
  fail "still there: $(ls "$WORK/tmp") $(pgrep --full --list-full "$WORK/tmp")"
}

it_ends_with_its_figures() {
  local last number='[0-9]+(\.[0-9]+)?'
  start_demo --pace 0.15
  wait "$DEMO" || fail "it ended with $?: $(cat "$WORK/out")"
  DEMO=
  last=$(tail --lines=1 "$WORK/out")
  [[ $last =~ ^demo:\ alone_tps=$number\ greedy_ratio=$number\ throttled_ratio=$number\ throttled_p99_ratio=$number\ backfill_rows_per_s=$number\  ]] ||
    fail "the last line is: $last"
  grep --quiet '</svg>' "$WORK/demo.svg" || fail "there is no plot"
  nothing_is_left
}

three_servers_end_with_their_figures() {
  local last
  start_demo --servers --pace 0.2
  wait "$DEMO" || fail "it ended with $?: $(cat "$WORK/out")"
  DEMO=
  last=$(tail --lines=1 "$WORK/out")
  [[ $last =~ ^servers:\ failed_checks=0\ over_admitted=0\ longest_gap_ms=[0-9]+\  ]] ||
    fail "the last line is: $last: $(cat "$WORK/out")"
  [[ $(grep --count --extended-regexp 'headgate-[0-2] (is killed|is started again|is stopped|goes on|is upgraded)' \
    "$WORK/out") == 5 ]] || fail "not all has happened: $(cat "$WORK/out")"
  grep --quiet '</svg>' "$WORK/demo.svg" || fail "there is no picture of the servers"
  nothing_is_left
}

it_stops_when_it_is_told_to() {
  local status=0 tries
  start_demo
  for ((tries = 0; tries < 1800; tries++)); do
    if grep --quiet 'foreground alone' "$WORK/out"; then break; fi
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
three_servers_end_with_their_figures
tail --lines=1 "$WORK/out"
