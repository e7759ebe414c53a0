#!/usr/bin/env bash
# What a permit takes beyond a pair of bare calls of the same language, Check and Report, with a server on
# loopback and nobody who waits; and since reports go in batches, what a Check takes alone beyond a bare one. The
# last line has both ratios for each SDK, `-` where its language is missing. A language's part prints its two, and is
# a function here; the goal is 1.25 for each.
# shellcheck disable=SC2317  # functions are called by the names of languages
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

LANGUAGES='cpp python go'
GOAL=1.25

bench_cpp() { "$HEADGATE_BIN/headgate-bench-sdk" "$ADDRESS"; }

bench_go() {
  require_go >&2 || return
  (cd tests/sdk/go && go run ./bench "$ADDRESS")
}

bench_python() {
  require_tool python_sdk >&2 || return
  build_python >&2 || return
  PYTHONPATH=build/python/site "$(tool_path python_sdk)" tests/bench/sdk/python_bench.py "$ADDRESS"
}

cat >"$WORK/headgate.yaml" <<'YAML'
budgets: [{name: rows, rate: 100000000, burst: 100000000}]
rules: [{name: etl, match: {identity: etl}, charge: [rows]}]  # what no rule charges has no permit to report
YAML
start_server

line='sdk:' missed=0
for language in $LANGUAGES; do
  status=0
  ratios=$("bench_$language") || status=$?
  case $status in
    0) awk -v goal=$GOAL '{ exit !($1 <= goal && $2 <= goal) }' <<<"$ratios" || missed=1 ;;
    77) ratios='- -' ;;
    *) exit "$status" ;;
  esac
  line+=" $language=${ratios% *} ${language}_check=${ratios#* }"
done
echo "$line"
exit "$missed"
