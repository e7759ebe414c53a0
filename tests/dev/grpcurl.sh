#!/usr/bin/env bash
# The server as an operator with nothing but grpcurl meets it: it lists, describes and calls.
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh

fail() {
  echo "FAILED: $*"
  exit 1
}

status=0
reason=$(require_tool grpcurl) || status=$?
if ((status != 0)); then
  echo "SKIPPED: $reason"
  exit "$status"
fi
GRPCURL=$(tool_path grpcurl)

WORK=$(mktemp --directory)
SERVER=
cleanup() {
  if [[ -n $SERVER ]]; then
    kill "$SERVER" 2>/dev/null || true
    wait "$SERVER" || true
  fi
  rm -rf "$WORK"
}
trap cleanup EXIT

cat >"$WORK/headgate.yaml" <<'YAML'
targets:
  - name: orders
budgets:
  - name: backfills
    rate: 10
    burst: 100
rules:
  - name: charge-backfills
    match: {identity: backfill}
    charge: [backfills]
YAML

"$HEADGATE_BIN/headgated" --config "$WORK/headgate.yaml" --grpc-address 127.0.0.1:0 \
  --http-address off \
  --port-file "$WORK/port" 2>"$WORK/log" &
SERVER=$!
for _ in {1..200}; do
  if [[ -s $WORK/port ]]; then break; fi
  kill -0 "$SERVER" 2>/dev/null || { cat "$WORK/log"; fail "the server ended"; }
  sleep 0.05
done
[[ -s $WORK/port ]] || fail "the server did not listen"
ADDRESS=127.0.0.1:$(<"$WORK/port")

call() { "$GRPCURL" -plaintext "$@"; }

# expect OUTPUT PATTERN
expect() { grep --quiet --extended-regexp -e "$2" <<<"$1" || fail "no '$2' in: $1"; }

services=$(call "$ADDRESS" list)
for service in headgate.v1.ThrottlerService headgate.v1.StatusService grpc.health.v1.Health; do
  expect "$services" "^$service\$"
done

methods=$(call "$ADDRESS" list headgate.v1.ThrottlerService)
for method in Check BatchCheck CheckStream Report Explain; do
  expect "$methods" "^headgate.v1.ThrottlerService.$method\$"
done

expect "$(call "$ADDRESS" describe headgate.v1.CheckRequest)" 'optional double estimated_cost'
expect "$(call "$ADDRESS" describe headgate.v1.ThrottlerService.Check)" 'CheckResponse'
expect "$(call "$ADDRESS" grpc.health.v1.Health/Check)" 'SERVING'

check() {
  call -d "{\"identity\": \"$1\", \"estimated_cost\": $2}" "$ADDRESS" \
    headgate.v1.ThrottlerService/Check
}
allowed=$(check job-7:backfill 100)
expect "$allowed" '"verdict": "VERDICT_ALLOWED"'
denied=$(check job-7:backfill 50)
expect "$denied" '"verdict": "VERDICT_DENIED"'
expect "$denied" '"budget": "backfills"'
expect "$denied" '"retry_?[aA]fter": "4\.[0-9]+s"'

permit=$(sed -n 's/.*"permit_\?[iI]d": "\([0-9]*\)".*/\1/p' <<<"$allowed")
report="{\"reports\": [{\"permit_id\": \"$permit\", \"actual_cost\": 10}]}"
expect "$(call -d "$report" "$ADDRESS" headgate.v1.ThrottlerService/Report)" 'SETTLED'
expect "$(check job-7:backfill 50)" 'VERDICT_ALLOWED'

if bad=$(check 'job 7' 1 2>&1); then fail "a bad identity was taken: $bad"; fi
expect "$bad" 'InvalidArgument'
expect "$bad" 'identity'
if bad=$(call -d '{"identity": "a", "target": "nowhere"}' "$ADDRESS" \
  headgate.v1.ThrottlerService/Check 2>&1); then
  fail "an unknown target was taken: $bad"
fi
expect "$bad" 'NotFound'

expect "$(call "$ADDRESS" headgate.v1.StatusService/ListBudgets)" '"budget": "backfills"'
expect "$(call "$ADDRESS" headgate.v1.StatusService/GetStatus)" '"name": "orders"'

kill "$SERVER"
wait "$SERVER" || fail "the server did not stop with status 0"
SERVER=
echo "listed, described and called"
