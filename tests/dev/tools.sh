#!/usr/bin/env bash
# A pinned tool is installed once, however many tests want it at the same time; one that could not be
# installed is asked for again the next time.
# Watches: tools/tools.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
TOOLS=$WORK/tools

fail() {
  echo "FAILED: $*"
  exit 1
}

# In place of the real one, which takes a network: slow enough to be met halfway.
install_python() {
  [[ ! -e $WORK/broken ]] || return 1
  echo once >>"$WORK/installed"
  rm -rf "$TOOLS/python"
  mkdir -p "$TOOLS/python/bin"
  sleep 0.2
  printf '#!/bin/sh\n' >"$TOOLS/python/bin/python"
  chmod +x "$TOOLS/python/bin/python"
}
runtime_is_there() { true; }

touch "$WORK/broken"
! require_tool python >/dev/null 2>&1 || fail "what could not be installed is said to be there"
rm "$WORK/broken"

wanting=()
for _ in 1 2 3 4; do
  { require_tool python && "$(tool_path python)"; } 2>/dev/null &
  wanting+=($!)
done
for pid in "${wanting[@]}"; do
  wait "$pid" || fail "one of those that wanted it at the same time has none"
done
[[ $(wc --lines <"$WORK/installed") == 1 ]] || fail "it was installed $(wc --lines <"$WORK/installed") times"
echo "installed once for four at the same time, and again after a failure"
