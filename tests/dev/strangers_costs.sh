#!/usr/bin/env bash
# Jobs as strangers write them, in Python: one that reports its rows, one that reports nothing, one in
# another unit and one that gets it wrong, under budgets of rows and of busy time. None is locked out
# by another, nor by the unit of a budget; and an operator puts right what was wrong.
# Watches: server/decide/ server/serve/rpc/ client/cli/cost/ tests/dev/strangers_costs.py
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

skip_without require_tool python
PYTHON=$(tool_path python)

mkdir "$WORK/state" "$WORK/generated"
cat >"$WORK/headgate.yaml" <<YAML
server:
  state_dir: $WORK/state
targets:
  - name: main
budgets:
  - name: rows
    rate: 0.001        # nothing drains while this runs, however slowly it does
    burst: 5000
    split: {depth: 2}
  - name: busy
    rate: 1
    burst: 600
    unit: BUSY_TIME
    split: {depth: 2}
rules:
  - name: backfills
    match: {identity: backfill}
    charge: [rows, busy]
YAML
start_server

(
  cd proto
  "$PYTHON" -m grpc_tools.protoc --proto_path=. --python_out="$WORK/generated" \
    --grpc_python_out="$WORK/generated" headgate/v1/*.proto
)

headgate() { "$HEADGATE_BIN/headgate" --address "$ADDRESS" --timeout 30s "$@"; }
# expect OUTPUT PATTERN
expect() { grep --quiet --extended-regexp -e "$2" <<<"$1" || fail "no '$2' in: $1"; }
job() { PYTHONPATH=$WORK/generated "$PYTHON" tests/dev/strangers_costs.py "$ADDRESS" "$@" || fail "$*"; }

job reports_rows job-1:backfill
job reports_nothing job-2:backfill
job another_unit job-3:backfill
job gets_it_wrong job-4:backfill

expect "$(headgate costs job-1:backfill)" 'backfill +copy-rows +1 '
expect "$(headgate costs --pattern purge -o csv)" '^main,backfill,,purge,'
# Who is locked out is told by which Report, and in which unit.
denied=$(headgate check job-4:backfill --cost 10) && fail "job-4 is not locked out: $denied"
expect "$denied" 'OWED SINCE'
expect "$denied" 'a Report of 1000000000000, for'
headgate explain job-4:backfill --cost 10 >"$WORK/explained" || true
expect "$(<"$WORK/explained")" '600 s'
headgate check job-1:backfill --cost 100 --pattern copy-rows >"$WORK/others" || fail "job-1 pays for job-4: $(<"$WORK/others")"

expect "$(headgate forgive job-4:backfill --budget rows --reason 'bytes for rows' --actor ann)" \
  '^forgiven: [0-9.]+ that job-4:backfill owed to rows'
expect "$(headgate costs forget --pattern mistaken --reason 'bytes for rows' --actor ann)" '^forgotten: 1 '
headgate check job-4:backfill --cost 10 >"$WORK/again" || fail "job-4 is locked out: $(<"$WORK/again")"
events=$(headgate overrides --events)
expect "$events" 'DEBT_FORGIVEN .*that job-4:backfill owed to rows on main .*ann .*bytes for rows'
expect "$events" 'COSTS_FORGOTTEN .*1 learnt cost of pattern mistaken on main'

# A plain shell job: the permit alone is enough.
permit=$(headgate check job-5:backfill --cost 100 -o csv | tail -n 1 | cut -d, -f3)
expect "$(headgate report "$permit")" "$permit +SETTLED"
if headgate report "$permit" 100 2>"$WORK/old"; then fail "the old form of report is taken"; fi
expect "$(<"$WORK/old")" "headgate report $permit --actual-cost 100"
echo "four jobs in three units and a shell script were charged what is theirs"
