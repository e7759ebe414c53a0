#!/usr/bin/env bash
# Every command of `headgate` in the documentation runs as it stands there, at a server with headgate.example.yaml, and
# ends with an exit status that ANSWERS has. One that is refused runs again where nobody answers: is its usage wrong?
#
# Commands with a placeholder (COST, …) or with files of the reader's are left out, as are those that other tests run
# (ELSEWHERE). Between backticks a command may be short of what it needs: `headgate pause` is mentioned, not typed.
# Watches: docs/ README.md headgate.example.yaml client/cli/ tools/test_docs.sh
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
REPOSITORY=$PWD

# shellcheck source=tools/test_server.sh
source tools/test_server.sh
# shellcheck source=tools/test_docs.sh
source tools/test_docs.sh

# Of PostgreSQL and its machine, and of several servers: tests/agent, tests/servers, dev/chart.
ELSEWHERE='agent|store|members|move|drain|undrain'
# Commands, and with which exit status they answer. All others may also refuse what the example does not have.
ANSWERS=(
  'check explain' '0 1'
  'status top log leases rules overrides replay config pause throttle exempt completion' '0'
  'costs resume forgive report' '0 1 2'
  'run' '0 1'
)
COMPLAINTS=0

# complain PLACE COMMAND WHY
complain() {
  echo "$1: $2: $3"
  COMPLAINTS=$((COMPLAINTS + 1))
}

# documented: kind (typed or mentioned), place, and one command of ours, without what a shell does with it.
documented() {
  { spans | sed 's/^/mentioned\t/' && code_commands | sed 's/^/typed\t/'; } | awk -F '\t' -v elsewhere="$ELSEWHERE" '
    {
      command = $4
      sub(/^([A-Z_]+=[^ ]* )+/, "", command)
      if (command !~ /^headgate [a-z-]/) next
      sub(/ +(\||#|>|2>|&|&&|;).*$/, "", command)
      sub(/;$/, "", command)
      if (command ~ "^headgate (" elsewhere ")( |$)") next
      sub(/ -- .*/, " -- true", command)
      if (command ~ /…|\.\.\.|\$\(|[a-z]\||--t(ls|oken)-|(^| |=)[A-Z][A-Z_-]*(\.yaml)?( |$)/) next
      # A clock time that is still to come, today, is refused.
      gsub(/--since [0-9:]+( |$)/, "--since 2h ", command)
      gsub(/--until [0-9:]+( |$)/, "--until 1h ", command)
      if (!seen[command]++) printf "%s\t%s:%s\t%s\n", $1, $2, $3, command
    }'
}

# Those that may have nothing to end for.
waits() { [[ $1 =~ \ (run|--wait|--follow|-f)(\ |$) ]]; }

# answer SECONDS ADDRESS TIMEOUT COMMAND: runs it in the folder with the files that it may name. Its exit status.
answer() {
  local words
  mapfile -t words < <(xargs printf '%s\n' <<<"$4")
  (cd "$WORK/place" && HEADGATE_ADDRESS=$2 timeout "$1" "$HEADGATE_BIN/headgate" --timeout "$3" "${words[@]:1}" \
    >"$WORK/said" 2>&1 </dev/null)
}

# expected COMMAND: the exit statuses that answer it.
expected() {
  local word=${1#headgate } at
  for ((at = 0; at < ${#ANSWERS[@]}; at += 2)); do
    if [[ " ${ANSWERS[at]} " == *" ${word%% *} "* ]]; then echo "${ANSWERS[at + 1]}"; fi
  done
  if waits "$1"; then echo 124; fi
}

# is_misused COMMAND: where nobody answers, nothing is refused but a command that is wrong.
is_misused() {
  local status=0
  answer 120 127.0.0.1:1 20ms "$1" || status=$?
  ((status == 2))
}

# try KIND PLACE COMMAND
try() {
  local status=0 seconds=120
  if waits "$3"; then seconds=0.5; fi
  answer "$seconds" "$ADDRESS" 60s "$3" || status=$?
  if ((status == 2)) && is_misused "$3"; then
    if [[ $1 == mentioned ]] && grep --quiet -E 'needs|required|takes' "$WORK/said"; then return; fi
    complain "$2" "$3" "$(<"$WORK/said")"
  elif [[ " $(expected "$3" | tr '\n' ' ') " == *" $status "* ]]; then
    RUN=$((RUN + 1))
  else
    complain "$2" "$3" "ends with $status: $(<"$WORK/said")"
  fi
}

# What people run stands in $WORK/place: the example under the names that pages use.
mkdir -p "$WORK/place/tour" "$WORK/state"
sed -e "s#^  \# state_dir: .*#  state_dir: $WORK/state#" -e 's/host=billing-1 port=5432/host=127.0.0.1 port=1/' \
  headgate.example.yaml >"$WORK/headgate.yaml"
for name in headgate new rules tour/headgate tour/orders; do cp "$WORK/headgate.yaml" "$WORK/place/$name.yaml"; done
export HEADGATE_ORDERS_DSN='host=127.0.0.1 port=1 dbname=app user=headgate' HEADGATE_TARGET=orders
start_server

RUN=0
walk() {
  local kind place command
  read_docs
  while IFS=$'\t' read -r kind place command; do try "$kind" "$place" "$command"; done < <(documented)
}

# catches WHAT TEXT: a page with this text is complained of, in these words.
catches() {
  local said
  printf '%s\n' "$2" >"$WORK/page.md"
  said=$(DOCS=("$WORK/page.md") && walk)
  grep --quiet --fixed-strings -e "$1" <<<"$said" || fail "nobody notices: $2: $said"
}

fence='```'
catches 'no command fly' "Run \`headgate fly --far\`."
catches 'headgate pause etl' "$fence"$'sh\nheadgate pause etl\n'"$fence"
catches '--wings' $'Run\n\n    headgate status --wings'
catches 'ends with 2' $'Run\n\n    headgate check job-7:etl --cost 1 --target nowhere'

all_docs
walk
((COMPLAINTS == 0)) || fail "$COMPLAINTS commands in the documentation are wrong"
((RUN >= 40)) || fail "only $RUN commands are left in the documentation"
stop_server
cd "$REPOSITORY"
echo "$RUN commands run, as the documentation has them"
