#!/usr/bin/env bash
# The Go SDK: vet, staticcheck, its own tests, and every scenario of tests/sdk against a real server and
# against its fake, all of it under the race detector.
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/go.sh
source tools/go.sh

LOG=$(mktemp)
trap 'rm -f "$LOG"' EXIT
export HEADGATE_BIN

skip_without require_tool staticcheck
test_go "$LOG"
