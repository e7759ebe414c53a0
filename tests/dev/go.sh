#!/usr/bin/env bash
# The Go SDK: vet, staticcheck, its own tests, and every scenario of tests/sdk against a real server and
# against its fake, all of it under the race detector.
# Watches: client/go/ tests/sdk/go/ tests/sdk/scenarios/ proto/ docs/clients.md tools/go.sh
# Needs: headgated headgate headgate-two-servers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/go.sh
source tools/go.sh

# shellcheck source=tools/test_server.sh
source tools/test_server.sh
export HEADGATE_BIN
# For all commands alike: what a package depends on is compiled once.
export GOFLAGS="${GOFLAGS:-} -race"

skip_without require_tool staticcheck

printf '%s\n' 'budgets: [{name: rows, rate: 100, burst: 100}]' 'rules: [{name: all, charge: [rows]}]' \
  >"$WORK/headgate.yaml"
start_server
mkdir "$WORK/copy-orders"
HEADGATE_ADDRESS=$ADDRESS run_go_program "$WORK/copy-orders" >"$WORK/said" 2>&1 ||
  fail "the program of docs/clients.md: $(<"$WORK/said")"
grep --quiet '^rows 250 to 299$' "$WORK/said" || fail "the program of docs/clients.md says: $(<"$WORK/said")"
stop_server

test_go "$WORK/go.log"
