#!/usr/bin/env bash
# What docs/sizing.md says of memory is what the server takes: for each table in it, the server is
# started with that one small and large, and the difference is compared with the formula.
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "FAILED: $*"
  exit 1
}

WORK=$(mktemp --directory)
SERVER=
cleanup() {
  if [[ -n $SERVER ]]; then kill -KILL "$SERVER" 2>/dev/null || true; fi
  rm -rf "$WORK"
}
trap cleanup EXIT

# What memory may take more than documented, per cent: AddressSanitizer keeps a byte for each eight.
surplus() {
  if grep --quiet '^HEADGATE_SANITIZE:[A-Z]*=.*address' "$(dirname "$HEADGATE_BIN")/CMakeCache.txt"; then
    echo 20
  else
    echo 5
  fi
}

# documented THING: the bytes for each, from the page's table.
documented() {
  local bytes
  bytes=$(sed -n -E "s/^\| $1 \| ([0-9]+) \|.*/\1/p" docs/sizing.md)
  [[ $bytes =~ ^[0-9]+$ ]] || fail "docs/sizing.md has no bytes for '$1'"
  echo "$bytes"
}

# resident YAML: leaves in $RESIDENT how many KiB a server with this configuration has in memory.
resident() {
  local try
  printf '%s\n' "$1" >"$WORK/headgate.yaml"
  rm -f "$WORK/port"
  "$HEADGATE_BIN/headgated" --config "$WORK/headgate.yaml" --grpc-address 127.0.0.1:0 \
    --http-address off --port-file "$WORK/port" 2>"$WORK/log" &
  SERVER=$!
  for ((try = 0; try < 400; try++)); do
    if [[ -s $WORK/port ]]; then break; fi
    kill -0 "$SERVER" 2>/dev/null || { cat "$WORK/log"; fail "no server with: $1"; }
    sleep 0.05
  done
  [[ -s $WORK/port ]] || fail "the server does not listen with: $1"
  RESIDENT=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$SERVER/status")
  kill -TERM "$SERVER"
  wait "$SERVER" || fail "the server ended badly with: $1"
  SERVER=
}

# costs THING COUNT SMALL LARGE: COUNT more of THING take what the page says.
costs() {
  local bytes small more all
  bytes=$(documented "$1")
  resident "$3"
  small=$RESIDENT
  resident "$4"
  more=$(((RESIDENT - small) * 1024)) all=$((bytes * $2))
  echo "$2 of $1: documented $all bytes, measured $more"
  ((more * 100 >= all * 95 && more * 100 <= all * (100 + SURPLUS))) ||
    fail "docs/sizing.md says $bytes bytes for each $1, the server takes $((more / $2))"
}

split_budget() { # split_budget MAX_BUCKETS
  echo "budgets: [{name: b, rate: 1, burst: 1, split: {depth: 2}, max_buckets: $1}]"
  echo "rules: [{name: r, charge: [b]}]"
}

SURPLUS=$(surplus)
costs permit 458752 'engine: {max_permits: 65536}' 'engine: {max_permits: 524288}'
costs pattern 983040 'engine: {max_patterns: 65536}' 'engine: {max_patterns: 1048576}'
costs bucket 3932160 "$(split_budget 262144)" "$(split_budget 4194304)"
echo "permits, patterns and buckets take what docs/sizing.md says"
