#!/usr/bin/env bash
# bench.sh [PART...]: what a piece of a lease costs in each SDK and its server, how holders share a budget, and
# what is admitted where nobody can be reached. A part prints figures as NAME=VALUE, one a line. The last line has
# all of FIGURES, in their order; `-` is one whose part was not asked for, or that this machine cannot measure.
#
# A part is one of headgate-bench-lease, whose head says what it measures, or a function bench_NAME here:
#
# go: go_ns, the wall time of one piece on one goroutine; the median of rounds.
# python: python_us, the same on one thread.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/go.sh
source tools/go.sh
# shellcheck source=tools/python.sh
source tools/python.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

PARTS=(admit go python share revoke simulated approximate)
FIGURES=(admit_ns admit_two_threads_ns go_ns python_us server_percent_at_100k over_admitted jain used
  revoke_ms safe_over approx_error approx_goodput)

with_a_server() {
  cat >"$WORK/headgate.yaml" <<'YAML'
budgets: [{name: rows, rate: 1e12, burst: 1e12}]
rules: [{name: all, charge: [rows]}]
YAML
  [[ -n $SERVER ]] || start_server
}

bench_go() {
  require_go >&2 || return
  with_a_server
  (cd tests/sdk/go && go run ./leasebench "$ADDRESS") >"$WORK/go" || return
  echo "go_ns=$(<"$WORK/go")"
}

bench_python() {
  require_tool python_sdk >&2 || return
  build_python >&2 || return
  with_a_server
  PYTHONPATH=build/python/site "$(tool_path python_sdk)" tests/bench/sdk/python_lease_bench.py "$ADDRESS" \
    >"$WORK/python" || return
  echo "python_us=$(awk '{ print $1 }' "$WORK/python")"
}

measure() {
  if declare -F "bench_$1" >/dev/null; then
    "bench_$1"
  else
    "$HEADGATE_BIN/headgate-bench-lease" "$1"
  fi
}

declare -A value
(($#)) || set -- "${PARTS[@]}"
for part; do
  status=0
  measure "$part" >"$WORK/figures" || status=$?
  ((status == 0 || status == 77)) || exit "$status"
  while IFS='=' read -r name figure; do
    value[$name]=$figure
    say "$name=$figure"
  done <"$WORK/figures"
done
line='lease:'
for name in "${FIGURES[@]}"; do line+=" $name=${value[$name]:--}"; done
say "$line"
