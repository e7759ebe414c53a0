#!/usr/bin/env bash
# The Helm chart: every file of values renders to valid objects, which the real server runs with.
# Watches: helm/ Dockerfile tools/chart* proto/headgate/v1/config.proto server/govern/config/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/chart.sh
source tools/chart.sh

skip_without require_chart_tools
check_chart "$HEADGATE_BIN"
