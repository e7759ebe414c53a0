#!/usr/bin/env bash
# The server as an operator with nothing but grpcurl meets it: it lists, describes and calls.
# Watches: proto/ server/serve/transport/ server/serve/rpc/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

skip_without require_tool grpcurl
GRPCURL=$(tool_path grpcurl)

cat >"$WORK/headgate.yaml" <<'YAML'
targets:
  - name: orders
budgets:
  - name: backfills
    rate: 0.001
    burst: 100
rules:
  - name: charge-backfills
    match: {identity: backfill}
    charge: [backfills]
YAML

start_server

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
# 50,000 s, but for those that have passed.
expect "$denied" '"retry_?[aA]fter": "49[0-9]{3}\.[0-9]+s"'

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

stop_server || fail "the server did not stop with status 0"
echo "listed, described and called"
