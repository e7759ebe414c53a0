#!/usr/bin/env bash
# What docs/security.md says of memory is what the server takes: for each table in it, the server is
# started with that one small and large, and the difference is compared with the formula. What the
# throttle log has for identities is touched as they come: there it is the address space that counts.
# Watches: docs/security.md server/decide/ server/remember/ server/serve/transport/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tools/test_server.sh
source tools/test_server.sh

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
  bytes=$(sed -n -E "s/^\| $1 \| ([0-9]+) \|.*/\1/p" docs/security.md)
  [[ $bytes =~ ^[0-9]+$ ]] || fail "docs/security.md has no bytes for '$1'"
  echo "$bytes"
}

# memory FIELD YAML: leaves in $KIB what a server with this configuration has in this field of its status.
memory() {
  printf '%s\n' "$2" >"$WORK/headgate.yaml"
  start_server
  KIB=$(sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$SERVER/status")
  stop_server || fail "the server ended badly with: $2"
}

# costs FIELD THING COUNT SMALL LARGE: COUNT more of THING take what the page says.
costs() {
  local bytes small more all
  bytes=$(documented "$2")
  memory "$1" "$4"
  small=$KIB
  memory "$1" "$5"
  more=$(((KIB - small) * 1024)) all=$((bytes * $3))
  echo "$3 of $2: documented $all bytes, measured $more"
  ((more * 100 >= all * (100 - SHORTFALL) && more * 100 <= all * (100 + SURPLUS))) ||
    fail "docs/security.md says $bytes bytes for each $2, the server takes $((more / $3))"
}

# The formula's first summand is what a server with its defaults takes besides permits and patterns.
# It has the program in it, so it is only about so much.
costs_by_itself() {
  local said rest
  said=$(sed -n 's/^    memory = \([0-9]*\) MB + .*/\1/p' docs/security.md)
  memory VmRSS '{}'
  rest=$((KIB * 1024 - 32768 * $(documented permit) - 16384 * $(documented pattern)))
  echo "a server with its defaults has $((KIB * 1024 / 1000000)) MB, $((rest / 1000000)) of them besides its tables"
  ((rest <= said * 1250000)) || fail "docs/security.md says $said MB besides the tables"
}

split_budget() { # split_budget MAX_BUCKETS
  echo "budgets: [{name: b, rate: 1, burst: 1, split: {depth: 2}, max_buckets: $1}]"
  echo "rules: [{name: r, charge: [b]}]"
}

SHORTFALL=5
SURPLUS=$(surplus)
costs VmRSS permit 458752 'engine: {max_permits: 65536}' 'engine: {max_permits: 524288}'
costs VmRSS pattern 983040 'engine: {max_patterns: 65536}' 'engine: {max_patterns: 1048576}'
costs VmRSS bucket 3932160 "$(split_budget 262144)" "$(split_budget 4194304)"
# AddressSanitizer has an address space of its own.
if ((SURPLUS == 5)); then
  costs_by_itself
  # The heap reserves 64 MiB of addresses at a time, which is a tenth of what is looked for.
  SHORTFALL=15 SURPLUS=15
  costs VmSize 'identity in the throttle log' 1032192 \
    $'server: {threads: 1}\nthrottle_log: {max_identities: 16384}' \
    $'server: {threads: 1}\nthrottle_log: {max_identities: 1048576}'
fi
echo "the server takes what docs/security.md says"
