#!/usr/bin/env bash
# Over HTTP the API answers as over gRPC: two hundred generated requests, good and bad, by clients that know
# nothing of Headgate, Python's http.client and grpcurl.
# Watches: proto/ server/serve/http/ server/serve/gateway/ server/serve/json/ tests/dev/http_grpcurl.py
# Needs: headgated
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

skip_without require_tool grpcurl
skip_without require_tool python

mkdir "$WORK/state"
cat >"$WORK/headgate.yaml" <<YAML
server: {state_dir: $WORK/state}
targets:
  - name: main
budgets:
  - {name: backfills, rate: 10, burst: 100, max_cost: 90}
rules:
  - {name: backfills, match: {identity: backfill}, charge: [backfills]}
  - {name: never, match: {identity: banned}, deny: true}
YAML
start_server
"$(tool_path python)" tests/dev/http_grpcurl.py "$(tool_path grpcurl)" "$ADDRESS" "$HTTP_ADDRESS"
