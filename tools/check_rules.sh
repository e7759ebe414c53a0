#!/usr/bin/env bash
# Rules of the house that no compiler knows.
#
#   tools/check_rules.sh arrows|rooms|protos|clock|length [ROOT]
#   tools/check_rules.sh table [ROOT]
#   tools/check_rules.sh write-table [ROOT]
#
# Prints each violation as file:line: what is wrong, and exits with 1 if there is any. The last two
# print the table of rooms that CONTRIBUTING.md has, and put it there.
set -euo pipefail

# Who may include and link whom. A new room gets a line here, and says in the comment at the top of its
# CMakeLists.txt what it is for.
ARROWS='
proto            proto
common           common
server/engine    common server/engine
server/line      common server/engine server/line
server/sqlite    common server/sqlite
server/throttle_log common server/engine server/sqlite server/throttle_log
server/overrides common server/engine server/sqlite server/overrides
server/cluster   common server/cluster
server/health    common server/engine server/health
server/control   common server/engine server/health server/control
server/dsn       common server/dsn
server/postgres  common server/health server/throttle_log server/dsn server/postgres
server/store     common server/cluster server/overrides server/postgres server/store
server/access    common server/engine server/access
server/config    common server/engine server/health server/access server/dsn proto server/config
server/tls       common server/config server/tls
server/snapshot  common server/engine server/snapshot
server/membership common server/engine server/cluster server/snapshot server/membership
server/transport common proto server/transport
server/rpc       common server/engine server/line server/health server/access server/cluster server/config server/throttle_log server/overrides server/snapshot server/tls server/transport proto server/rpc
server/peers     common proto server/engine server/access server/cluster server/transport server/rpc server/peers
server/json      common proto server/json
server/http      common server/access server/transport server/http
server/gateway   common proto server/access server/transport server/rpc server/json server/http server/gateway
server/web       common server/engine server/line server/health server/access server/config server/throttle_log server/overrides server/snapshot server/tls server/transport server/http server/web
server/app       common server
server/main.cc   common server
client           client common proto
'

# Whatever the engine needs from outside is handed to it.
ENGINE_NEVER='^(grpc.*|pqxx.*|google/protobuf.*|iostream|fstream|filesystem|cstdio|stdio\.h|netdb\.h|sys/(socket|un|epoll)\.h|netinet/.*|arpa/.*|poll\.h)$'

# Evidence of who calls is gathered elsewhere, so that it is judged without a connection.
ACCESS_NEVER='^(grpc.*|google/protobuf.*|headgate/v1/.*)$'

# Real time and real randomness enter at these places only. The tests' fuzz driver
# stops after so many seconds.
CLOCK_PLACES='^(common/(system_clock|random_seed)\.(h|cc)|tests/(bench|demo)/.*|tests/fuzz/replay_main\.cc)$'

CLOCK_READS='(system|steady|high_resolution|utc|tai|gps|file)_clock|::now *\(|absl::(Now|GetCurrentTimeNanos)\b|clock_gettime|gettimeofday|timespec_get|\btime *\( *(nullptr|NULL|0|&)|rdtsc'
SLEEPS='sleep_(for|until)|\b(u|nano|clock_nano)?sleep *\(|\bSleepFor *\('
RANDOMNESS='random_device|\b(s?rand|rand_r|s?random_r|getrandom|getentropy|arc4random) *\(|[a-z]rand48|absl::(Insecure)?BitGen'
# An engine with a seed that is not a literal; tests may run one test with several seeds.
SEEDED='(mt19937(_64)?|default_random_engine|minstd_rand0?)( +[A-Za-z_]+)? *[({] *[A-Za-z_]'

MAX_LINES=400
TALK_LINES=150

# What awk reads ARROWS with: room_of(path), may_include(room, path), report(place, what).
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
  includes common server client tests | awk -v arrows="$ARROWS" -v engine_never="$ENGINE_NEVER" \
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
      if (room == "") { report($1, "this room has no line in ARROWS of tools/check_rules.sh"); next }
      if (ours && !may_include(room, path)) report($1, room " may not include " path)
      if (room == "server/engine" && path ~ engine_never) report($1, "the engine does no I/O: " path)
      if (room == "server/access" && path ~ access_never) report($1, "access knows no gRPC: " path)
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
  cmake_targets | awk -v arrows="$ARROWS" "$ROOMS_AWK"'
    { place[NR] = $1; target[NR] = $3; folder = $1; sub(/\/CMakeLists\.txt:.*/, "", folder); from[NR] = folder }
    $2 == "makes" { home[$3] = folder }
    END {
      for (i = 1; i <= NR; i++) {
        # A program is linked where its main.cc is.
        room = room_of(from[i] "/main.cc:")
        if (room == "") report(place[i], "this room has no line in ARROWS of tools/check_rules.sh")
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
      *) list+=", \`${room#server/}\`" ;;
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
  done <<<"$ARROWS"
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
    awk '{ print } END { exit NR > 0 }'
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
    arrows | rooms | protos | clock | length) "check_$1" ;;
    table) print_table ;;
    write-table) write_table ;;
    *)
      echo "usage: tools/check_rules.sh arrows|rooms|protos|clock|length|table|write-table [ROOT]" >&2
      exit 2
      ;;
  esac
}

main "$@"
