# The plan of a test run: which units there are, which runs each belongs to and what it may cost there, what has to
# be built for it, and which of them need a quiet machine.
# shellcheck shell=bash

# shellcheck source=tools/rooms.sh
source tools/rooms.sh
# shellcheck source=tools/changed.sh
source tools/changed.sh
# shellcheck source=tools/test_changed.sh
source tools/test_changed.sh

# What each unit is in, by preset: RUNS:SECONDS, or "-" where it finds nothing that it would not find elsewhere.
#
#   short     every ./dev test, and so every .ci/run
#   ci        every .ci/run besides
#   rotating  of each .ci/run in its turn, one commit in eight, and if what it is about has changed
#             (tools/test_changed.sh), as far as that goes into the time
#   long      ./dev test --long, and where it is named
#
# Seconds are what it may take beside others on two cores, what is above by half in three runs is said aloud. The
# line "budget" has what all of a run may take: whoever adds to a run makes room in it first.
#
# A proof is made once: a program is in short in release, as it is shipped, where it takes little or where clocks, programs
# and databases are real. AddressSanitizer and UBSan rotate, and run at once where something has changed;
# fuzzers run with them and nowhere else. ThreadSanitizer is for what shares without locks: Debian's libraries are not
# instrumented, and through the larger of them it reports races that are none.
PLAN='
# unit              release       asan          tsan
access              short:2       rotating:2    -
agent               short:65      rotating:75   -
agents              short:2       rotating:2    -
app                 short:2       rotating:2    -
approximate         short:6       rotating:20   -
cli                 short:70      rotating:180  -
client              short:18      rotating:16   -
cluster             short:65      rotating:50   rotating:5
common              short:35      rotating:65   -
config              short:9       rotating:25   -
control             short:55      rotating:5    -
demo                short:2       long:10       -
dsn                 short:2       rotating:2    -
engine              short:18      rotating:85   rotating:115
gateway             short:4       rotating:8    -
health              short:2       rotating:2    -
http                short:2       rotating:2    -
integration         short:130     long:200      -
json                short:2       rotating:3    -
line                short:15      rotating:115  -
load                short:2       long:10       -
membership          short:2       rotating:2    -
overrides           short:5       rotating:12   -
peers               short:25      rotating:40   -
postgres            short:110     rotating:145  -
proxy               short:2       rotating:2    -
restart             short:50      long:110      -
rpc                 short:14      rotating:50   -
sdk                 short:14      long:60       -
scheduling          short:2       rotating:2    -
security            short:30      rotating:75   -
servers             short:280     long:100      -
snapshot            short:2       rotating:2    -
soak                short:2       long:10       -
sqlite              short:2       rotating:2    -
store               short:20      rotating:19   -
throttle_log        short:35      rotating:100  rotating:70
tls                 short:95      rotating:165  -
transport           short:13      rotating:12   -
web                 short:30      rotating:50   -
postgres@*          rotating:30   -             -
client@*            long:20       -             -
integration@*       rotating:25   -             -
store@*             rotating:5    -             -
dev/demo@18         long:90       -             -
dev/agent_pods      rotating:25   -             -
dev/build_all       rotating:150  -             -
dev/alerts          rotating:25   -             -
dev/chart           rotating:285  -             -
dev/chart_release   rotating:35   -             -
dev/chart_rules     rotating:245  -             -
dev/client_install  rotating:65   long:120      -
dev/compose         rotating:30   -             -
dev/demo            rotating:75   -             -
dev/docs            short:45      -             -
dev/docs_commands   short:6       -             -
dev/docs_example    short:5       -             -
dev/entry_script    rotating:2    -             -
dev/flood           rotating:17   -             -
dev/go              rotating:170  -             -
dev/grpcurl         short:2       long:20       -
dev/house_rules     rotating:25   -             -
dev/http_docs       short:8       -             -
dev/http_grpcurl    rotating:12   -             -
dev/isolation       rotating:14   -             -
dev/package         rotating:180  -             -
dev/python          rotating:100  -             -
dev/python_protos   rotating:7    -             -
dev/readme_tour     short:6       long:40       -
dev/recipes         rotating:35   -             -
dev/sizing          rotating:4    long:60       -
dev/soak            rotating:35   long:200      -
dev/strangers_costs rotating:3    -             -
dev/test_runner     rotating:45   -             -
dev/tidy_sources    rotating:2    -             -
dev/tokens          short:2       long:20       -
dev/tools           rotating:2    -             -
dev/tour            rotating:290  -             -
dev/web             rotating:110  -             -
fuzz/*              long:10       rotating:4    -
'
# What all that is short may take after the build, all of .ci/run, and of that ./dev check, in seconds.
# shellcheck disable=SC2034
SHORT_SECONDS=480 CI_SECONDS=2700 CHECK_SECONDS=300
# What goes into .ci/run by the plan besides what is short, the build of release and ./dev check; there it is
# what these have left (tools/test_budget.sh).
REST_SECONDS=1300
# What building another preset takes: once, and for each of its programs.
BUILD_COSTS='
asan 380 18
tsan  60 15
'

# They measure memory, or ratios of speeds: nothing else runs meanwhile.
QUIET_UNITS=' tls dev/demo dev/flood dev/isolation dev/tour dev/build_all '
# What meets PostgreSQL's own differences runs with each pinned one as well, as a unit of its own: "postgres@18", so that
# each version has its turn. Of a folder, the tests whose names match; and of some with these versions alone, such as
# what takes pgbench.
POSTGRES_UNITS='
postgres     ^(Versions|Signals|Standby|TwoStandbys|Failover|SpoilingSignal|Sampler|StatementTotals|Work)
client       ^Pqxx
integration  ^PostgresFaults
store        ^(Admin|Round|State)Test
dev/demo     .  18
'
# Of a unit's tests those that a sanitizer runs where the run is not long, as gtest's filter has it. Simulations calculate
# for minutes, and what they call is called by other tests too; without a second thread there is no race to be found.
SANITIZED_TESTS='
asan control       -ControlSimulation.*:YieldingSimulation.*
tsan cluster       Decisions.*
tsan engine        *Threads.*:*Restart.*:EngineRegression.*:PermitHoldersTest.*:PermitTableTest.*:*Schedule*.*:VirtualClock*.*
tsan throttle_log  RecorderThreads.*:SqliteStore*.*:Writer*.*
'
ROTATION=8  # commits until all that rotates has had its turn

# Which run this is: short, ci (what .ci/run adds to it), changed, sanitizers, long, or named: all that the command line
# names. A run that asks what has changed looks once, and keeps the units here; and those whose own files have.
TEST_RUN=short
CHANGED_UNITS=
CHANGED_THEMSELVES=

needs_quiet() { [[ $QUIET_UNITS == *" ${1%@*} "* ]]; }

# The folders of tests that have a gtest program: "engine" of tests/decide/engine, "cli" of all below tests/cli.
test_rooms() {
  find tests -mindepth 2 -name '*_test.cc' -not -path '*/build/*' |
    sed -E "s@^tests/(($(wings | paste --serial --delimiters='|'))/)?([^/]+)/.*@\\3@" | sort --unique
}

# Where the tests of a room are: tests/decide/engine of "engine".
tests_folder() { # tests_folder ROOM
  local wing
  for wing in $(wings); do
    if [[ -d tests/$wing/$1 ]]; then echo "tests/$wing/$1" && return; fi
  done
  echo "tests/$1"
}

files_as_units() { # files_as_units PREFIX SUFFIX PATTERN: "fuzz/config" of tests/fuzz/config_fuzz.cc
  local file
  for file in $3; do
    if [[ -e $file ]]; then echo "$1/$(basename "$file" "$2")"; fi
  done
}

# The regular expression of what runs with each PostgreSQL; nothing for all others.
postgres_tests_of() { awk -v unit="${1%@*}" '$1 == unit { print $2 }' <<<"$POSTGRES_UNITS"; } # postgres_tests_of UNIT

# Of the units on stdin, those that run with pinned PostgreSQLs besides. Where the command line names a
# version, all run with that one, and once.
units_with_postgres() {
  [[ -z ${POSTGRES_VERSION:-} ]] || return 0
  awk -v units="$POSTGRES_UNITS" -v pinned="${POSTGRES_PINNED[*]}" '
    BEGIN {
      count = split(units, rows, "\n")
      for (i = 1; i <= count; i++) {
        words = split(rows[i], word, " ")
        if (words < 2) continue
        versions[word[1]] = words == 2 ? pinned : ""
        for (j = 3; j <= words; j++) versions[word[1]] = versions[word[1]] " " word[j]
      }
    }
    { count = split(versions[$1], version, " "); for (i = 1; i <= count; i++) print $1 "@" version[i] }'
}

# Each unit there is.
all_units() {
  local units
  units=$(test_rooms && files_as_units dev .sh 'tests/dev/*.sh' && files_as_units fuzz _fuzz.cc 'tests/fuzz/*_fuzz.cc')
  echo "$units"
  units_with_postgres <<<"$units"
}

# The plan, a unit and preset a line: "PRESET UNIT RUNS SECONDS". A line of a kind, such as fuzz/* or postgres@*, is for
# all of it that have none of their own; a unit without a line is "unplanned".
planned() {
  all_units | awk -v plan="$PLAN" '
    BEGIN {
      split("release asan tsan", presets, " ")
      count = split(plan, rows, "\n")
      for (i = 1; i <= count; i++) if (split(rows[i], word, " ") == 4 && word[1] != "#") lines[word[1]] = rows[i]
    }
    {
      kind = $1
      if (!sub(/@.*/, "@*", kind)) sub(/\/.*/, "/*", kind)
      line = $1 in lines ? lines[$1] : kind in lines ? lines[kind] : "? unplanned:0 unplanned:0 unplanned:0"
      split(line, word, " ")
      for (i = 1; i <= 3; i++) {
        if (word[i + 1] == "-") continue
        split(word[i + 1], part, ":")
        print presets[i], $1, part[1], part[2]
      }
    }'
}

# Of the plan on stdin, what rotates, as "COMMITS PRESET UNIT SECONDS": how many commits from now it has its turn, 0 for
# this one. The most expensive ones are dealt out first.
turns() {
  awk '$3 == "rotating"' | sort -k 4,4nr -k 1,2 |
    awk -v turn="$(($(commit_count) % ROTATION))" -v of="$ROTATION" '{ print (NR + of - turn) % of, $1, $2, $4 }'
}

# Of the plan on stdin, what .ci/run adds to the short run, as "PRESET UNIT": what is always in it or has its turn, and of
# what has changed as much as goes into REST_SECONDS, by the plan and two beside each other. First comes what
# has changed itself, then what uses it, and of these what would wait longest for its turn: where there is more, the
# next commits have another part of it.
added_by_ci() {
  local plan
  plan=$(cat)
  { awk '$3 == "ci" { print 0, $1, $2, $4 }' <<<"$plan" && turns <<<"$plan"; } |
    awk -v changed="$CHANGED_UNITS" -v itself="$CHANGED_THEMSELVES" -v of="$ROTATION" '
      BEGIN {
        count = split(changed, rows, "\n"); for (i = 1; i <= count; i++) rank[rows[i]] = 2
        count = split(itself, rows, "\n"); for (i = 1; i <= count; i++) rank[rows[i]] = 1
      }
      $1 == 0 { print 0, 0, $2, $3, $4; next }
      $3 in rank { print rank[$3], of - $1, $2, $3, $4 }' | sort -k 1,2n -k 5,5nr -k 3,4 |
    awk -v limit="$REST_SECONDS" -v costs="$BUILD_COSTS" -v quiet="$QUIET_UNITS" '
      BEGIN {
        count = split(costs, rows, "\n")
        for (i = 1; i <= count; i++) if (split(rows[i], word, " ") == 3) { once[word[1]] = word[2]; each[word[1]] = word[3] }
      }
      {
        cost = index(quiet, " " $4 " ") ? $5 : $5 / 2
        if (!($3 in built)) cost += once[$3]
        cost += each[$3]
        if ($1 > 0 && total + cost > limit) next
        total += cost; built[$3] = 1; print $3, $4
      }'
}

# What this run takes, as "SECONDS PRESET UNIT", those that take longest first.
chosen_units() {
  local plan added=
  plan=$(planned)
  if [[ $TEST_RUN == ci ]]; then added=$(added_by_ci <<<"$plan"); fi
  awk -v run="$TEST_RUN" -v added="$added" -v changed="$CHANGED_UNITS" '
    function set_of(text, list,   i, count, rows) {
      count = split(text, rows, "\n")
      for (i = 1; i <= count; i++) list[rows[i]] = 1
    }
    BEGIN { set_of(added, is_added); set_of(changed, has_changed) }
    run == "short" && $3 == "short" ||
    run == "ci" && $1 " " $2 in is_added ||
    run == "changed" && $3 != "long" && $2 in has_changed ||
    run == "sanitizers" && $3 != "long" && $1 != "release" ||
    run == "long" || run == "named" { print $4, $1, $2 }' <<<"$plan" | sort -k 1,1nr -k 2,3
}

# What rotates and is left to other commits, as "UNIT (PRESET)"; of it, with "changed", what has changed.
left_to_others() { # left_to_others ["changed"]
  local chosen
  chosen=$(TEST_RUN=ci chosen_units)
  planned | awk -v chosen="$chosen" -v changed="$CHANGED_UNITS" -v which="${1:-}" '
    BEGIN {
      count = split(chosen, rows, "\n"); for (i = 1; i <= count; i++) { split(rows[i], w, " "); taken[w[2], w[3]] = 1 }
      count = split(changed, rows, "\n"); for (i = 1; i <= count; i++) has_changed[rows[i]] = 1
    }
    $3 == "rotating" && !(($1, $2) in taken) && (which == "changed") == ($2 in has_changed) { print $2 " (" $1 ")" }'
}

# Names of the tests that a folder's sources have, and the headers of tests/ that they include:
# "Suite.Name" a line.
tests_in_sources() { # tests_in_sources ROOM
  local sources shared
  mapfile -t sources < <(find "$(tests_folder "$1")" -name '*.cc' -o -name '*.h')
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

# The tests of a unit that this run has, as gtest's filter: nothing for all of them.
sanitized_tests() { # sanitized_tests PRESET UNIT
  [[ -z $TEST_LONG ]] || return 0
  awk -v preset="$1" -v unit="$2" '$1 == preset && $2 == unit { printf "%s", $3 }' <<<"$SANITIZED_TESTS"
}

# What of a preset is to be run, those that take longest first. What is named runs in release wherever else it
# is at home.
wanted_units() { # wanted_units PRESET
  local unit
  if [[ $TEST_RUN == named && $1 == release ]]; then all_units; else chosen_units | awk -v preset="$1" '$2 == preset { print $3 }'; fi |
    while read -r unit; do
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
  local named units
  units=$(all_units)
  for named; do
    grep --quiet --extended-regexp -e "^$named(/|\$)" <<<"$units" || echo "$named"
  done
}

# Units that the plan says nothing of.
unplanned_units() { planned | awk '$3 == "unplanned" { print $2 }' | sort --unique; }
