# The plan of a test run: which units there are, where each can find something, what has to be built for
# it, and which of them need a quiet machine.
# shellcheck shell=bash

# They measure memory, or ratios of speeds: nothing else runs meanwhile.
QUIET_UNITS=' tls dev/demo dev/flood dev/isolation '
# What meets PostgreSQL's own differences runs with the newest one as well, as a unit of its own: "postgres@18".
# Of a folder, the tests whose names match.
POSTGRES_UNITS='
postgres     .
client       ^Pqxx
integration  ^PostgresFaults
store        ^(Admin|Round|State)Test
dev/demo     .
'
# They take longest, and begin first, so that none is left over at the end.
FIRST_UNITS='postgres postgres@18 integration integration@18 dev/chart dev/soak dev/web dev/python dev/recipes dev/go cli dev/chart_rules restart servers dev/client_install common web throttle_log health dev/docs'
# With sanitizers in a long run only: tests of the tests' own programs find hardly anything more, and
# restarts stop and kill the program for minutes. What the scenarios run of the SDK, `client` does too.
LONG_SANITIZED_UNITS=' demo load restart sdk servers soak '
# The same of a unit's tests, as gtest's filter has it: simulations calculate for minutes, and what they call is
# called by other tests too.
LONG_SANITIZED_TESTS='
control ControlSimulation.*
'
# Shell tests in which C++ of ours runs long enough to go wrong.
SANITIZED_SHELL_TESTS='dev/client_install dev/grpcurl dev/readme_tour dev/sizing dev/soak dev/tokens'
# Where threads share without locks. Debian's libraries are not instrumented, and through the larger of
# them ThreadSanitizer reports races that are none.
THREAD_UNITS='engine throttle_log cluster'

needs_quiet() { [[ $QUIET_UNITS == *" ${1%@*} "* ]]; }

# The folders of tests that have a gtest program.
test_rooms() {
  find tests -mindepth 2 -name '*_test.cc' -not -path '*/build/*' | cut --delimiter=/ --fields=2 |
    sort --unique
}

files_as_units() { # files_as_units PREFIX SUFFIX PATTERN: "fuzz/config" of tests/fuzz/config_fuzz.cc
  local file
  for file in $3; do
    if [[ -e $file ]]; then echo "$1/$(basename "$file" "$2")"; fi
  done
}

# The regular expression of what runs with the newest PostgreSQL; nothing for all others.
postgres_tests_of() { awk -v unit="${1%@*}" '$1 == unit { print $2 }' <<<"$POSTGRES_UNITS"; } # postgres_tests_of UNIT

# Of the units on stdin, those that run with the newest PostgreSQL besides. Where the command line names a
# version, all run with that one, and once.
units_with_postgres() {
  local unit
  [[ -z ${POSTGRES_VERSION:-} ]] || return 0
  while read -r unit; do
    if [[ -n $(postgres_tests_of "$unit") ]]; then echo "$unit@${POSTGRES_TOOL#postgresql-}"; fi
  done
}

# Each unit there is, those that take longest first.
all_units() {
  local unit others
  others=$(test_rooms && files_as_units dev .sh 'tests/dev/*.sh' &&
    files_as_units fuzz _fuzz.cc 'tests/fuzz/*_fuzz.cc')
  others+=$'\n'$(units_with_postgres <<<"$others")
  for unit in $FIRST_UNITS; do
    if grep --quiet --line-regexp --fixed-strings -e "$unit" <<<"$others"; then echo "$unit"; fi
  done
  grep --invert-match --line-regexp --fixed-strings --file=<(tr ' ' '\n' <<<"$FIRST_UNITS") \
    <<<"$others" || true
}

units_of_preset() { # units_of_preset PRESET
  local unit
  for unit in $(all_units); do
    case $1:$unit in
      release:*) ;;
      *@*) continue ;;
      asan:dev/*) [[ -n $TEST_LONG && " $SANITIZED_SHELL_TESTS " == *" $unit "* ]] || continue ;;
      asan:*)
        [[ -n $TEST_LONG || $LONG_SANITIZED_UNITS != *" $unit "* ]] || continue
        ;;
      tsan:*) [[ " $THREAD_UNITS " == *" $unit "* ]] || continue ;;
    esac
    echo "$unit"
  done
}

# What a run leaves out of a unit, as the end of gtest's filter.
tests_left_out() { # tests_left_out PRESET UNIT
  [[ $1 == asan && -z $TEST_LONG ]] || return 0
  awk -v unit="$2" '$1 == unit { printf "-%s", $2 }' <<<"$LONG_SANITIZED_TESTS"
}

# Names of the tests that a folder's sources have, and the headers of tests/ that they include:
# "Suite.Name" a line.
tests_in_sources() { # tests_in_sources ROOM
  local sources shared
  mapfile -t sources < <(find "tests/$1" -name '*.cc' -o -name '*.h')
  mapfile -t shared < <(cat "${sources[@]}" |
    sed -n 's/^#include "\(tests\/[a-z_/]*\.h\)"$/\1/p' | sort --unique)
  cat "${sources[@]}" ${shared[@]+"${shared[@]}"} 2>/dev/null | tr '\n' ' ' |
    grep --only-matching --extended-regexp 'TEST[A-Z_]*\( *[A-Za-z0-9_]+, *[A-Za-z0-9_]+ *\)' |
    sed -E 's/.*\( *([A-Za-z0-9_]+), *([A-Za-z0-9_]+).*/\1.\2/'
}

# The names on stdin that a run of the unit has: those that -k chooses, and which meet its PostgreSQL.
matching_tests() { # matching_tests UNIT
  local tests=.
  if [[ $1 == *@* ]]; then tests=$(postgres_tests_of "$1"); fi
  grep --extended-regexp -e "$TEST_REGEX" | grep --extended-regexp -e "$tests"
}

# Whether -k may choose something in it. An instance of a test with parameters has more in its name
# than the sources say.
regex_may_match() { # regex_may_match UNIT
  case $1 in
    */*) grep --quiet --extended-regexp -e "$TEST_REGEX" <<<"$1" ;;
    *) [[ $TEST_REGEX == */* ]] || tests_in_sources "${1%@*}" | matching_tests "$1" >/dev/null ;;
  esac
}

# Whether the command line wants it: by its name, or by that of its kind, "fuzz" or "dev".
is_named() { # is_named UNIT
  local named
  ((${#TEST_UNITS[@]})) || return 0
  for named in "${TEST_UNITS[@]}"; do
    if [[ $1 == "$named" || $1 == "$named"/* ]]; then return 0; fi
  done
  return 1
}

wanted_units() { # wanted_units PRESET
  local unit
  for unit in $(units_of_preset "$1"); do
    is_named "$unit" || continue
    if [[ -n $TEST_REGEX ]]; then regex_may_match "$unit" || continue; fi
    echo "$unit"
  done
}

# What the build has to make for these units; a shell test says "# Needs: headgated headgate" of itself.
targets_of() { # targets_of UNIT...
  local unit
  for unit; do
    unit=${unit%@*}
    case $unit in
      fuzz/*) echo "headgate-fuzz-${unit#fuzz/}" ;;
      dev/*) sed -n 's/^# Needs: //p' "tests/$unit.sh" | tr ' ' '\n' ;;
      *) echo "headgate_${unit}_tests" ;;
    esac
  done | sort --unique
}

# Names on the command line that mean nothing.
unknown_units() {
  local named
  for named; do
    all_units | grep --extended-regexp -e "^$named(/|\$)" >/dev/null || echo "$named"
  done
}
