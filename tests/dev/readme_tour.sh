#!/usr/bin/env bash
# The tour in README.md and the first steps with a database do what they say: their commands run as they stand,
# in order, against a real server and a real PostgreSQL, and print what is shown.
#
# In what it shows, `…` stands for some text within a line, and a line of nothing but `…` for any
# lines. Everything else has to be there, which the test makes sure of: each line that is shown, once
# it is altered, must no longer match.
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
REPOSITORY=$PWD

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_shown.sh
source tools/test_shown.sh
# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh

fail() {
  echo "FAILED: $*"
  exit 1
}

skip_without require_tool grpcurl
for program in curl psql; do
  command -v "$program" >/dev/null || { echo "SKIPPED: $program is not installed" && exit 77; }
done

WORK=$(mktemp --directory)
SHOWN=0
cleanup() {
  if [[ -s $WORK/pid ]]; then kill -KILL "$(<"$WORK/pid")" 2>/dev/null || true; fi
  stop_postgres
  rm -rf "$WORK"
}
trap cleanup EXIT

# --- what the README says ---

# The fenced blocks of both parts, each line behind the language of its block.
tour_lines() {
  awk '
    /^## / { tour = ($0 == "## A tour in five minutes" || $0 == "## With your database") }
    !tour { next }
    /^```/ { language = language == "" ? substr($0, 4) : ""; next }
    language != "" { print language "\t" $0 }' "$REPOSITORY/README.md"
}

# Steps NNN.command, and NNN.shown where the README shows what is printed. A block of sh is one
# step; in a console block each prompt begins one, and a backslash continues it.
write_steps() {
  tour_lines | awk -F '\t' -v folder="$WORK/steps" '
    function begin() { step = sprintf("%s/%03d", folder, ++count); continued = 0 }
    { text = substr($0, length($1) + 2) }
    $1 == "sh" { if (language != "sh") begin(); print text > (step ".command") }
    $1 == "console" && text ~ /^\$ / { begin(); text = substr(text, 3); continued = 1 }
    $1 == "console" {
      print text > (step (continued ? ".command" : ".shown"))
      continued = continued && text ~ /\\$/
    }
    { language = $1 }'
}

# --- a server of its own ---

# README names the ports 8081 and 8080, and a database of the reader's. The programs that it calls stand behind
# others of the same names, which put the real ports and the real database in.
write_program() { # write_program FILE, the script on stdin
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash' && cat; } >"$1"
  chmod +x "$1"
}

write_programs() {
  local bin=$WORK/build/tour/bin tools=$WORK/build/tools/bin waits program
  waits="until [[ -s $WORK/http && -s $WORK/grpc ]] || ((SECONDS > 120)); do sleep 0.05; done"
  write_program "$bin/headgated" <<SCRIPT
echo \$\$ >"$WORK/pid"
sed --in-place "s#host=orders-1#host=$PGHOST#" "\$2"
exec "$HEADGATE_BIN/headgated" "\$@" --grpc-address 127.0.0.1:0 --port-file "$WORK/grpc" \
  --http-address 127.0.0.1:0 --http-port-file "$WORK/http"
SCRIPT
  write_program "$bin/headgate" <<SCRIPT
if [[ \$1 == config ]]; then
  sed --in-place "s#host=orders-1#host=$PGHOST#" "\$3"
  exec "$HEADGATE_BIN/headgate" "\$@"
fi
$waits
export HEADGATE_ADDRESS=127.0.0.1:\$(<"$WORK/grpc")
# The README sleeps for as long as it takes on a machine that is idle: until the last Check is collected.
if [[ \$1 == log ]]; then
  until "$HEADGATE_BIN/headgate" --timeout 60s "\$@" | grep '^job-8:' >"$WORK/collected" || ((SECONDS > 120)); do
    sleep 0.05
  done
fi
exec "$HEADGATE_BIN/headgate" --timeout 60s "\$@"
SCRIPT
  for program in "$(tool_path grpcurl)" "$(command -v curl)"; do
    write_program "$tools/$(basename "$program")" <<SCRIPT
$waits
set -- "\${@/localhost:8081/127.0.0.1:\$(<"$WORK/grpc")}"
set -- "\${@/localhost:8080/127.0.0.1:\$(<"$WORK/http")}"
exec "$program" "\$@"
SCRIPT
  done
}

# All steps in one shell, as a reader has one. Without shown output a step has to succeed.
run_steps() {
  local command step
  for command in "$WORK"/steps/*.command; do
    step=${command%.command}
    # The ports of a server that has ended are not those of the next one.
    if grep --quiet 'headgated --config' "$command"; then echo "rm -f '$WORK/grpc' '$WORK/http'"; fi
    echo "{"
    cat "$command"
    echo "} >'$step.printed' 2>&1"
    [[ -e $step.shown ]] || echo "(exit \$?) || { cat '$step.printed' && exit 1; }"
  done >"$WORK/walk"
  echo wait >>"$WORK/walk"
  mkdir -p "$WORK/server/observe"
  ln -s "$REPOSITORY/server/observe/postgres" "$WORK/server/observe/postgres"
  (cd "$WORK" && bash "$WORK/walk")
}

# --- comparing ---

# Each line that is shown counts: without its first letter or digit it must not match any more.
every_line_counts() { # every_line_counts SHOWN PRINTED
  local line lines number=0
  mapfile -t lines <"$1"
  for line in "${lines[@]}"; do
    number=$((number + 1))
    [[ $line =~ [A-Za-z0-9] ]] || continue
    sed -E "${number}s/[A-Za-z0-9]//" "$1" >"$WORK/altered"
    if matches "$WORK/altered" "$2"; then fail "the comparison overlooks: $line"; fi
    SHOWN=$((SHOWN + 1))
  done
  { cat "$1" && echo "one more line"; } >"$WORK/altered"
  if matches "$WORK/altered" "$2"; then fail "the comparison overlooks a line that is missing"; fi
}

compare_steps() {
  local shown printed
  for shown in "$WORK"/steps/*.shown; do
    printed=${shown%.shown}.printed
    matches "$shown" "$printed" || fail "README.md shows for
$(<"${shown%.shown}.command")
$(<"$shown")
but it prints
$(<"$printed")"
    every_line_counts "$shown" "$printed"
  done
}

# A tour that lost its stops would pass.
tour_visits() {
  local stop
  for stop in 'headgate check' 'headgate report' 'headgate explain' 'DENIED by' 'headgate pause' 'headgate resume' \
    'headgate log' 'headgate status' /metrics ThrottlerService/Check setup.sql 'EXTENSION IF NOT EXISTS pg_stat_statements' \
    'headgate config check' 'rate: auto' 'standard: HEALTHY'; do
    grep --quiet --fixed-strings -e "$stop" "$WORK"/steps/* ||
      fail "the tour does not come to $stop any more"
  done
}

mkdir "$WORK/steps"
write_steps
tour_visits
POSTGRES_OPTIONS="-c shared_preload_libraries=pg_stat_statements"
start_postgres
psql --no-psqlrc --quiet --command 'CREATE DATABASE app'
write_programs
run_steps || { cat "$WORK/tour/log" || true; fail "the tour cannot be walked"; }
compare_steps
[[ ! -d /proc/$(<"$WORK/pid") ]] || fail "the tour leaves its server behind"
echo "$(find "$WORK/steps" -name '*.command' | wc -l) steps walked, $SHOWN lines as shown"
