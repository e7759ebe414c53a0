#!/usr/bin/env bash
# The SDK for Python: its generated code is fresh, wheel and sdist are built, style and types are good, and
# its tests pass: the scenarios of all SDKs against a real headgated and against its fake, and its own. The
# wheel works with the oldest protobuf that it takes, with which it is tested, and with the next one.
# Watches: client/python/ tests/sdk/python/ tests/sdk/scenarios/ proto/ docs/clients.md README.md tools/python.sh
# Needs: headgated headgate headgate-two-servers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/python.sh
source tools/python.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

skip_without require_tool python_sdk
skip_without require_tool python

check_python "$HEADGATE_BIN" >"$WORK/tests.log" 2>&1 || { cat "$WORK/tests.log" && fail "see above"; }

echo '{budgets: [{name: rows, rate: 10, burst: 10}], rules: [{name: all, charge: [rows]}]}' >"$WORK/headgate.yaml"
start_server
PYTHONPATH=build/python/site "$(tool_path python)" - "$ADDRESS" <<'PYTHON'
import sys

import google.protobuf
import headgate

assert google.protobuf.__version__.startswith("7."), google.protobuf.__version__
with headgate.Client(sys.argv[1], on_unreachable=headgate.OnUnreachable.wait(), identity="job:etl") as client:
    with client.permit(max_wait=20):
        pass
    assert client.flush(20)
    assert client.report_stats.delivered == 1
PYTHON

tail --lines=1 "$WORK/tests.log"
