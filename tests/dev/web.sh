#!/usr/bin/env bash
# The page: its types and its own tests, and what it does in Debian's Chromium with a real headgated, a real
# PostgreSQL and jobs. What it looked like stays in build/web/shots.
# Watches: client/web/ server/serve/web/ server/serve/gateway/openapi.json tools/web.sh
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/web.sh
source tools/web.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh
# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh

skip_without require_web
require_packages "${WEB_PACKAGES[@]}" >&2 || fail "Chromium cannot be installed"

trap 'stop_postgres; rm -rf "$WORK"' EXIT
start_postgres
HEADGATE_BIN=$(realpath "$HEADGATE_BIN")
export HEADGATE_BIN HEADGATE_SHOTS=$PWD/build/web/shots
rm -rf "$HEADGATE_SHOTS"
build_web "$WORK/page" # for the types of the API
check_web_types || fail "the types are wrong"
test_web --reporter=verbose >"$WORK/web.log" 2>&1 || { cat "$WORK/web.log" && fail "see above"; }
# Vitest colours what it says where it is told to.
tests=$(sed 's/\x1b\[[0-9;]*m//g' "$WORK/web.log")
paint=$(grep --only-matching --extended-regexp 'first useful paint after [0-9]+ ms' <<<"$tests")
echo "$(grep --extended-regexp '^ +Tests ' <<<"$tests" | tr --squeeze-repeats ' ') of the page in Chromium; $paint"
