#!/usr/bin/env bash
# The reference of commands and options that docs/reference/commands.md has between two lines, as `headgate` itself prints it.
#
#   tools/reference.sh write [FILE]   puts it there
#   tools/reference.sh check [FILE]   says whether it is another
#
# HEADGATE_BIN is the folder with the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

FILE=${2:-docs/reference/commands.md}
BEGIN='<!-- reference: begin -->'
END='<!-- reference: end -->'
MOST_BYTES=14000

with_reference() {
  local reference line
  reference=$("${HEADGATE_BIN:-build/release/bin}/headgate" reference markdown) || return
  if ((${#reference} > MOST_BYTES)); then
    echo "the reference has ${#reference} bytes; $MOST_BYTES is the most" >&2
    return 1
  fi
  for line in "$BEGIN" "$END"; do
    grep --quiet --line-regexp --fixed-strings -e "$line" "$FILE" || { echo "$FILE has no line $line" >&2 && return 1; }
  done
  REFERENCE=$reference awk -v begin="$BEGIN" -v end="$END" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; print "\n" ENVIRON["REFERENCE"] "\n" }' "$FILE"
}

write() {
  local fresh
  fresh=$(with_reference) || return
  echo "$fresh" >"$FILE"
}

check() {
  local fresh
  fresh=$(with_reference) || return
  [[ $fresh == "$(<"$FILE")" ]] || { echo "$FILE is not what headgate says of itself: tools/reference.sh write" && return 1; }
}

case ${1:-} in
  write | check) "$1" ;;
  *) echo "usage: tools/reference.sh write | check [FILE]" >&2 && exit 2 ;;
esac
