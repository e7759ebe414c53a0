#!/usr/bin/env bash
# Rules of the house that no compiler knows.
#
#   tools/check_rules.sh arrows|wings|rooms|protos|clock|length [ROOT]
#   tools/check_rules.sh table [ROOT]
#   tools/check_rules.sh write-table [ROOT]
#
# Prints each violation as file:line: what is wrong, and exits with 1 if there is any. The last two
# print the table of rooms that CONTRIBUTING.md has, and put it there.
set -euo pipefail

# shellcheck source=tools/rooms.sh
source "$(dirname "${BASH_SOURCE[0]}")/rooms.sh"
# shellcheck source=tools/fail_on_output.sh
source "$(dirname "${BASH_SOURCE[0]}")/fail_on_output.sh"
PATHS=$(room_paths)

# Whatever the engine needs from outside is handed to it.
ENGINE_NEVER='^(grpc.*|pqxx.*|google/protobuf.*|iostream|fstream|filesystem|cstdio|stdio\.h|netdb\.h|sys/(socket|un|epoll)\.h|netinet/.*|arpa/.*|poll\.h)$'

# Evidence of who calls is gathered elsewhere, so that it is judged without a connection.
ACCESS_NEVER='^(grpc.*|google/protobuf.*|headgate/v1/.*)$'

# Real time and real randomness enter at these places only. The tests' fuzz driver
# stops after so many seconds, and clock_step stands in for the clock of a program.
CLOCK_PLACES='^(common/(system_clock|random_seed)\.(h|cc)|tests/(bench|demo)/.*|tests/fuzz/replay_main\.cc|tests/testing/clock_step/clock_step\.cc)$'

CLOCK_READS='(system|steady|high_resolution|utc|tai|gps|file)_clock|::now *\(|absl::(Now|GetCurrentTimeNanos)\b|clock_gettime|gettimeofday|timespec_get|\btime *\( *(nullptr|NULL|0|&)|rdtsc'
SLEEPS='sleep_(for|until)|\b(u|nano|clock_nano)?sleep *\(|\bSleepFor *\('
RANDOMNESS='random_device|\b(s?rand|rand_r|s?random_r|getrandom|getentropy|arc4random) *\(|[a-z]rand48|absl::(Insecure)?BitGen'
# An engine with a seed that is not a literal; tests may run one test with several seeds.
SEEDED='(mt19937(_64)?|default_random_engine|minstd_rand0?)( +[A-Za-z_]+)? *[({] *[A-Za-z_]'

MAX_LINES=400
MAX_WING_LINES=14
TALK_LINES=150

# What awk reads these paths with: room_of(path), may_include(room, path), report(place, what).
# shellcheck disable=SC2016
ROOMS_AWK='
  function report(place, what) { print place ": " what; bad = 1 }
  function room_of(path,   room, best) {
    for (room in allowed) {
      if ((index(path, room ":") == 1 || index(path, room "/") == 1) && length(room) > length(best)) best = room
    }
    return best
  }
  function may_include(room, path,   list, count, i) {
    count = split(allowed[room], list, " ")
    for (i = 1; i <= count; i++) if (index(path "/", list[i] "/") == 1) return 1
    return 0
  }
  BEGIN {
    count = split(arrows, rows, "\n")
    for (i = 1; i <= count; i++) {
      if (split(rows[i], words, " ") < 2) continue
      allowed[words[1]] = substr(rows[i], length(words[1]) + 1)
    }
  }'

# Where the table of rooms stands in CONTRIBUTING.md.
TABLE_BEGIN='<!-- made by tools/check_rules.sh write-table -->'
TABLE_END='<!-- end of the table of rooms -->'

sources() { # sources FOLDER...: the C++ files there, relative to the root.
  local folder
  for folder in "$@"; do
    if [[ -d $folder ]]; then find "$folder" -type f \( -name '*.h' -o -name '*.cc' \); fi
  done | sort
}

# Prints file:line:code without comments and without the text in string literals.
# shellcheck disable=SC2016
code() {
  sources "$@" | xargs --no-run-if-empty awk '
    FNR == 1 { in_comment = 0 }
    {
      line = $0; out = ""
      if (line !~ /^[ \t]*#[ \t]*include/) gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      while (line != "") {
        if (in_comment) {
          at = index(line, "*/")
          line = at ? substr(line, at + 2) : ""
          if (at) in_comment = 0
          continue
        }
        slashes = index(line, "//"); block = index(line, "/*")
        if (slashes && (!block || slashes < block)) { line = substr(line, 1, slashes - 1); block = 0 }
        if (!block) { out = out line; break }
        out = out substr(line, 1, block - 1) " "
        line = substr(line, block + 2); in_comment = 1
      }
      if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
    }'
}

# Prints "file:line <bracket> path" for each #include.
includes() {
  code "$@" | sed -n -E 's/^([^:]+:[0-9]+):[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">].*/\1 \2 \3/p'
}

check_includes() {
  includes common server client tests | awk -v arrows="$PATHS" -v engine_never="$ENGINE_NEVER" \
    -v access_never="$ACCESS_NEVER" "$ROOMS_AWK"'
    {
      path = $3
      if ($2 == "<" && path ~ /^(headgate|google\/rpc|grpc)\/.*\.pb\.h$/) path = "proto/" path
      ours = path ~ /^(common|server|client|tests|proto)\//
      if ($2 == "\"" && !ours && path !~ /^(absl|gtest|gmock|benchmark)\//) {
        report($1, "\"" path "\" does not start at the root of the repository")
        next
      }
      if ($1 ~ /^tests\//) next
      room = room_of($1)
      if (room == "") { report($1, "this room has no line in ARROWS of tools/rooms.sh"); next }
      if (ours && !may_include(room, path)) report($1, room " may not include " path)
      if (room == "server/decide/engine" && path ~ engine_never) report($1, "the engine does no I/O: " path)
      if (room == "server/govern/access" && path ~ access_never) report($1, "access knows no gRPC: " path)
    }
    END { exit bad }'
}

cmake_files() {
  local folder
  for folder in common proto server client; do
    if [[ -d $folder ]]; then find "$folder" -name CMakeLists.txt; fi
  done | sort
}

# Prints "file:line makes target" or "file:line links target" for each of our targets that a command
# of CMake names.
# shellcheck disable=SC2016
cmake_targets() {
  cmake_files | xargs --no-run-if-empty awk '
    { sub(/#.*/, "") }
    FNR == 1 { verb = "" }
    /^ *(headgate_library|add_library|add_executable) *\(/ { verb = "makes" }
    /^ *target_link_libraries *\(/ { verb = "links" }
    verb != "" {
      count = split($0, words, /[^A-Za-z0-9_]+/)
      for (i = 1; i <= count; i++) {
        if (words[i] !~ /^headgated?(_|$)/ || words[i] == "headgate_library") continue
        print FILENAME ":" FNR, verb, words[i]
        verb = "links"
      }
    }
    /\)/ { verb = "" }'
}

# The target graph has no arrow that the includes may not have.
check_targets() {
  cmake_targets | awk -v arrows="$PATHS" "$ROOMS_AWK"'
    { place[NR] = $1; target[NR] = $3; folder = $1; sub(/\/CMakeLists\.txt:.*/, "", folder); from[NR] = folder }
    $2 == "makes" { home[$3] = folder }
    END {
      for (i = 1; i <= NR; i++) {
        # A program is linked where its main.cc is.
        room = room_of(from[i] "/main.cc:")
        if (room == "") report(place[i], "this room has no line in ARROWS of tools/rooms.sh")
        else if (target[i] in home && home[target[i]] != from[i] && !may_include(room, home[target[i]]))
          report(place[i], room " may not link " target[i])
      }
      exit bad
    }'
}

check_arrows() {
  local status=0
  check_includes || status=1
  check_targets || status=1
  check_commands || status=1
  arrows_against_wings | fail_on_output || status=1
  return "$status"
}

# Each wing says on one page what it does and which rooms it has.
check_wings() {
  local wing room page status=0
  for wing in $(wings); do
    page=server/$wing/README.md
    if [[ ! -e $page ]] || (($(wc -l <"$page") > MAX_WING_LINES)); then
      echo "$page:1: each wing has a page of no more than $MAX_WING_LINES lines"
      status=1
      continue
    fi
    for room in $(rooms_of_wing "$wing"); do
      grep --quiet --fixed-strings -e "\`$room\`" "$page" || { echo "$page:1: it does not name \`$room\`" && status=1; }
    done
  done
  return "$status"
}

# Prints what a room is for: the comment at the top of its CMakeLists.txt.
purpose() {
  local file=${1%/main.cc}/CMakeLists.txt text=
  if [[ -e $file ]]; then
    text=$(awk '!/^# [^ ]/ { exit } { text = text (NR > 1 ? " " : "") substr($0, 3) } END { print text }' "$file")
  fi
  if [[ $text != *. ]]; then
    echo "$file:1: no sentence in a comment says what the room is for" >&2
    return 1
  fi
  echo "$text"
}

# room_list ROOM...: as the table has them: `engine`, all of `server`.
room_list() {
  local room list=
  for room in "$@"; do
    case $room in
      server) list+=", all of \`server\`" ;;
      *) list+=", \`${room##*/}\`" ;;
    esac
  done
  list=${list#, }
  echo "${list:-itself}"
}

print_table() {
  local room allowed others one text status=0
  echo '| Room | What it is | May include |'
  echo '|---|---|---|'
  while read -r room allowed; do
    [[ -n $room ]] || continue
    others=()
    for one in $allowed; do
      if [[ $one != "$room" ]]; then others+=("$one"); fi
    done
    text=$(purpose "$room") || status=1
    echo "| \`$room\` | $text | $(room_list "${others[@]}") |"
  done <<<"$PATHS"
  return "$status"
}

# Prints CONTRIBUTING.md with the table as the arrows are now.
with_table() {
  local table
  table=$(print_table) || return
  TABLE=$table awk -v begin="$TABLE_BEGIN" -v end="$TABLE_END" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; print ENVIRON["TABLE"] }' CONTRIBUTING.md
}

check_rooms() {
  local fresh place
  place=$(grep --line-number --fixed-strings --line-regexp -e "$TABLE_BEGIN" CONTRIBUTING.md) || {
    echo "CONTRIBUTING.md:1: there is no '$TABLE_BEGIN'"
    return 1
  }
  fresh=$(with_table 2>&1) || {
    echo "$fresh"
    return 1
  }
  if ! diff <(echo "$fresh") CONTRIBUTING.md; then
    echo "CONTRIBUTING.md:${place%%:*}: the table is not what the arrows say; tools/check_rules.sh write-table"
    return 1
  fi
}

write_table() {
  local fresh
  fresh=$(with_table) || return
  echo "$fresh" >CONTRIBUTING.md
}

# Who generates Go from a schema that does not say for which package has to tell protoc, file by file.
check_protos() {
  local file status=0
  while IFS= read -r file; do
    if ! grep --quiet -E '^option go_package = "[^"]+";$' "$file"; then
      echo "$file:1: no option go_package"
      status=1
    fi
  done < <(find proto -name '*.proto' | sort)
  return "$status"
}

# forbid PATTERN WHAT FOLDER...: fails when the pattern is in code outside CLOCK_PLACES.
forbid() {
  local pattern=$1 what=$2
  shift 2
  # An #include names a file, and reads nothing.
  code "$@" | awk -F: -v places="$CLOCK_PLACES" '$1 !~ places && $3 !~ /^[ \t]*#[ \t]*include/' |
    { grep -E "^[^:]+:[0-9]+:.*($pattern)" || true; } |
    sed -E "s/^([^:]+:[0-9]+):[ \t]*/\1: $what: /" |
    fail_on_output
}

check_clock() {
  local status=0
  forbid "$CLOCK_READS" 'reads a clock; take the time as an argument' \
    common server client tests || status=1
  forbid "$SLEEPS" 'sleeps; wait for an event instead' common server client tests || status=1
  forbid "$RANDOMNESS" 'randomness that is not injected' common server client tests || status=1
  forbid "$SEEDED" 'takes its seed from elsewhere than a literal' common server client || status=1
  return "$status"
}

# What the commands of client/cli share. Each of these folders may include those before it; a command may
# include all of them, and never another command; the SDK includes nothing of the command line.
CLI_SHARED='output process arguments connection'

check_commands() {
  includes client | awk -v shared="$CLI_SHARED" '
    function folder_of(path) { # in client/cli; ".": none of its folders, "": elsewhere
      if (path !~ /^client\/cli\//) return ""
      return split(path, parts, "/") > 3 ? parts[3] : "."
    }
    BEGIN { count = split(shared, list, " "); for (i = 1; i <= count; i++) place[list[i]] = i }
    {
      from = folder_of($1); to = folder_of($3)
      if (to == "" || to == from || from == ".") next
      if (from in place ? to in place && place[to] < place[from] : from != "" && (to == "." || to in place)) next
      print $1 ": " (from == "" ? "the SDK" : "client/cli/" from) " may not include " $3
      bad = 1
    }
    END { exit bad }'
}

check_length() {
  local file lines status=0
  while IFS= read -r file; do
    lines=$(wc -l <"$file")
    if ((lines > MAX_LINES)); then
      echo "$file: $lines lines; $MAX_LINES is the most"
      status=1
    elif ((lines > TALK_LINES)); then
      echo "warning: $file: $lines lines; is it still one thing?"
    fi
  done < <(sources common server client)
  return "$status"
}

main() {
  cd "${2:-$(dirname "$0")/..}"
  case ${1:-} in
    arrows | wings | rooms | protos | clock | length) "check_$1" ;;
    table) print_table ;;
    write-table) write_table ;;
    *)
      echo "usage: tools/check_rules.sh arrows|wings|rooms|protos|clock|length|table|write-table [ROOT]" >&2
      exit 2
      ;;
  esac
}

main "$@"
