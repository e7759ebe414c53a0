#!/usr/bin/env bash
# The examples in docs/http.md do what it says: its commands run as they stand, in order, against a real
# server with its configuration, and print what it shows.
# Watches: docs/http.md server/serve/http/ server/serve/gateway/ server/serve/json/
# Needs: headgated
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/test_server.sh
source tools/test_server.sh
# shellcheck source=tools/test_shown.sh
source tools/test_shown.sh

command -v curl >/dev/null || { echo "SKIPPED: curl is not installed" && exit 77; }
PAGE=$PWD/docs/http.md

# The page's configuration, and steps NNN.command and NNN.shown of what stands behind prompts.
awk '/^```yaml/ { inside = 1; next } /^```/ { inside = 0 } inside' "$PAGE" >"$WORK/headgate.yaml"
mkdir "$WORK/steps"
awk -v folder="$WORK/steps" '
  /^```/ { inside = ($0 == "```console"); continued = 0; next }
  !inside { next }
  /^\$ / { step = sprintf("%s/%03d", folder, ++count); $0 = substr($0, 3); continued = 1 }
  {
    print > (step (continued ? ".command" : ".shown"))
    continued = continued && /\\$/
  }' "$PAGE"

start_server

# The page names port 8080, which may be taken here.
curl() {
  set -- "${@/localhost:8080/$HTTP_ADDRESS}"
  command curl "$@"
}

steps=0 lines=0
cd "$WORK"
for command in "$WORK"/steps/*.command; do
  step=${command%.command}
  # shellcheck disable=SC1090  # in this shell, since one step uses what another has set
  source "$command" >"$step.printed" || fail "$(<"$command")"
  [[ -e $step.shown ]] || continue
  # curl ends no line where a body does not.
  [[ -z $(tail -c 1 "$step.printed") ]] || echo >>"$step.printed"
  matches "$step.shown" "$step.printed" || fail "docs/http.md shows for
$(<"$command")
$(<"$step.shown")
but it prints
$(<"$step.printed")"
  steps=$((steps + 1)) lines=$((lines + $(wc -l <"$step.shown")))
done
((steps >= 6)) || fail "the page has only $steps examples left"
echo "$steps examples run, $lines lines as shown"
