# The table of the slowest parts of a run.
# shellcheck shell=bash

# slowest_parts MOST HEADING PART...: a part is "SECONDS WHAT".
slowest_parts() {
  local most=$1 heading=$2
  shift 2
  (($# > 1)) || return 0
  echo "$heading"
  printf '%s\n' "$@" | sort --numeric-sort --reverse | head --lines="$most" |
    awk '{ seconds = $1; $1 = ""; printf "  %5d s %s\n", seconds, $0 }'
}
