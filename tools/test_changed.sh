# Which units of a test run what has changed may have changed the outcome of.
# shellcheck shell=bash

# What is no room of the same name, and what it is about: files, folders with a slash at their end, or whatever begins so
# and ends in an asterisk. A shell test says so of itself, in lines "# Watches: PATH..." at its top; without any it is about
# all that runs.
WATCHED='
cli          client/ proto/ common/reference/
client       client/ common/ proto/
integration  server/ client/
restart      server/app/ server/remember/ server/decide/engine/
servers      server/app/ server/share/ server/serve/peers/
security     server/serve/ server/govern/
scheduling   client/scheduling/ client/priority.cc common/
sdk          client/ proto/ server/serve/rpc/ server/serve/peers/ tests/sdk/scenarios/
demo         tests/demo/
load         tests/load/
soak         tests/soak/ tests/load/
identity     common/
ip           server/decide/engine/
'
# What is not C++ in them: only who names these folders, or what is in them, is about them.
APART='client/go/ client/python/ client/web/'
# What every program of tests hangs on.
WATCHED_BY_ALL='CMakePresets.json cmake/ tests/CMakeLists.txt'

# What WATCHED says, and else a room's folder, and those of the rooms that it may use; with "itself", without these.
watched_of_room() { # watched_of_room ROOM ["itself"]
  local lines
  lines=$(awk -v unit="$1" '$1 == unit { for (i = 2; i <= NF; i++) print $i }' <<<"$WATCHED")
  if [[ -n $lines ]]; then echo "$lines" && return; fi
  room_paths | awk -v room="$1" -v which="${2:-}" '
    $1 == room || $1 ~ "/" room "$" { for (i = 2; i <= (which == "itself" ? 2 : NF); i++) print $i "/" }'
}

# What a unit is about, one path a line.
watched_by() { # watched_by UNIT ["itself"]
  local unit=${1%@*} lines
  case $unit in
    dev/*)
      echo "tests/$unit.sh"
      lines=$(sed -n 's/^# Watches: //p' "tests/$unit.sh" | tr ' ' '\n')
      echo "${lines:-$(printf '%s\n' common/ proto/ server/ client/)}"
      ;;
    fuzz/*)
      unit=${unit#fuzz/}
      printf '%s\n' "tests/fuzz/${unit}_fuzz.cc" "tests/fuzz/corpus/$unit/" tests/fuzz/replay_main.cc
      watched_of_room "${unit%%_*}" "${2:-}"
      ;;
    *)
      echo "$(tests_folder "$unit")/"
      tr ' ' '\n' <<<"$WATCHED_BY_ALL"
      watched_of_room "$unit" "${2:-}"
      ;;
  esac
}

# What the tests of each folder include: files of tests/, what those include, and the folders of the product that the
# tests themselves name, as "UNIT PATH" a line.
included_by_tests() {
  local room
  grep --recursive --include='*.cc' --include='*.h' --extended-regexp '^#include "(tests|server|client|common)/' tests |
    sed -E 's/^([^:]+):#include "([^"]+)".*/\1 \2/' |
    awk -v rooms="$(for room in $(test_rooms); do echo "$room $(tests_folder "$room")/"; done)" '
      # What a file of tests/ includes, and what is in the source beside each header.
      function visit(file, unit,   i, count, list, source) {
        if ((unit, file) in seen) return
        seen[unit, file] = 1
        print unit, file
        count = split(includes[file], list, " ")
        for (i = 1; i <= count; i++) {
          if (list[i] !~ /^tests\//) continue
          visit(list[i], unit)
          source = list[i]
          if (sub(/\.h$/, ".cc", source)) visit(source, unit)
        }
      }
      { includes[$1] = includes[$1] " " $2 }
      END {
        count = split(rooms, rows, "\n")
        for (i = 1; i <= count; i++) {
          split(rows[i], word, " ")
          for (file in includes) {
            if (index(file, word[2]) != 1) continue
            visit(file, word[1])
            named = split(includes[file], list, " ")
            for (j = 1; j <= named; j++) if (list[j] !~ /^tests\//) { sub(/[^\/]*$/, "", list[j]); print word[1], list[j] }
          }
        }
      }' | sort --unique
}

# What each unit is about, as "UNIT PATH" a line; with "itself", what is its own.
watched() { # watched ["itself"]
  local unit
  [[ ${1:-} == itself ]] || included_by_tests
  for unit in $(all_units); do watched_by "$unit" "${1:-}" | sed "s|^|$unit |"; done
}

# The commit that changes are counted from.
base_of_changes() { local base=${TEST_BASE:-$(changed_since)} && git rev-parse --short "${base:-none}" 2>/dev/null || echo 'an unknown commit'; }

# The units that are about something that has changed since then; all of them where that is not known. With "itself", those
# whose own files have.
changed_units() { # changed_units ["itself"]
  local base=${TEST_BASE:-$(changed_since)}
  if [[ -z $base ]] || ! is_commit "$base"; then
    all_units
    return
  fi
  watched "${1:-}" | awk -v files="$(changed_files "$base")" -v apart="$APART" '
    function is_about(path, file,   i) {
      if (file == path) return 1
      if (path !~ /[\/*]$/) return 0
      sub(/\*$/, "", path)
      for (i = 1; i <= count_apart; i++) {
        if (index(file, folders[i]) == 1 && length(path) < length(folders[i])) return 0
      }
      return index(file, path) == 1
    }
    BEGIN { count = split(files, file, "\n"); count_apart = split(apart, folders, " ") }
    {
      for (i = 1; i <= count && !($1 in found); i++) {
        if (is_about($2, file[i])) { found[$1] = 1; print $1 }
      }
    }'
}
