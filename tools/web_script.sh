#!/usr/bin/env bash
# Runs client/web/tests/NAME.ts, which is no test, with a PostgreSQL: tools/web_script.sh picture|cost. Takes
# HEADGATE_BIN; the picture goes to HEADGATE_PICTURE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=tools/test_server.sh
source tools/test_server.sh
# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh
trap 'stop_postgres; rm -rf "$WORK"' EXIT
start_postgres
cd client/web && node_modules/.bin/vitest run --config scripts.config.ts "$1"
