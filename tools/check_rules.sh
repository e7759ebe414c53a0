#!/usr/bin/env bash
# Rules of the house that no compiler knows.
#
#   tools/check_rules.sh arrows|clock|length [ROOT]
#
# Prints each violation as file:line: what is wrong, and exits with 1 if there is any.
set -euo pipefail

# Who may include whom. A new room gets a line here.
ARROWS='
common           common
server/engine    common server/engine
server/sqlite    common server/sqlite
server/throttle_log common server/engine server/sqlite server/throttle_log
server/overrides common server/engine server/sqlite server/overrides
server/health    common server/engine server/health
server/postgres  common server/health server/throttle_log server/postgres
server/access    common server/engine server/access
server/config    common server/engine server/health server/access server/config
server/tls       common server/config server/tls
server/snapshot  common server/engine server/snapshot
server/transport common server/transport
server/rpc       common server/engine server/health server/access server/config server/throttle_log server/overrides server/snapshot server/tls server/transport server/rpc
server/web       common server/engine server/health server/access server/config server/throttle_log server/overrides server/snapshot server/tls server/transport server/web
server/app       common server
server/main.cc   common server
client           client common
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

check_arrows() {
  includes common server client tests | awk -v arrows="$ARROWS" -v engine_never="$ENGINE_NEVER" \
    -v access_never="$ACCESS_NEVER" '
    function report(what) { print $1 ": " what; bad = 1 }
    function room_of(path,   room, best) {
      for (room in allowed) {
        if ((index(path, room ":") == 1 || index(path, room "/") == 1) && length(room) > length(best)) best = room
      }
      return best
    }
    function may_include(room, path,   list, count, i) {
      count = split(allowed[room], list, " ")
      for (i = 1; i <= count; i++) if (index(path, list[i] "/") == 1) return 1
      return 0
    }
    BEGIN {
      count = split(arrows, rows, "\n")
      for (i = 1; i <= count; i++) {
        if (split(rows[i], words, " ") < 2) continue
        allowed[words[1]] = substr(rows[i], length(words[1]) + 1)
      }
    }
    {
      path = $3
      ours = path ~ /^(common|server|client|tests|proto)\//
      if ($2 == "\"" && !ours && path !~ /^(absl|gtest|gmock|benchmark)\//) {
        report("\"" path "\" does not start at the root of the repository")
        next
      }
      if ($1 ~ /^tests\//) next
      room = room_of($1)
      if (room == "") { report("this room has no line in ARROWS of tools/check_rules.sh"); next }
      if (ours && !may_include(room, path)) report(room " may not include " path)
      if (room == "server/engine" && path ~ engine_never) report("the engine does no I/O: " path)
      if (room == "server/access" && path ~ access_never) report("access knows no gRPC: " path)
    }
    END { exit bad }'
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
    arrows | clock | length) "check_$1" ;;
    *)
      echo "usage: tools/check_rules.sh arrows|clock|length [ROOT]" >&2
      exit 2
      ;;
  esac
}

main "$@"
