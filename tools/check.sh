# What ./dev check looks at.
# shellcheck shell=bash

# shellcheck source=tools/changed.sh
source tools/changed.sh
# shellcheck source=tools/fail_on_output.sh
source tools/fail_on_output.sh

FAILED_CHECKS=()
# Clang's analyzer looks into files that another one includes only where that one's path has this word.
TIDY=tidy-UnifiedSource

cpp_files() { # cpp_files FOLDER...
  find "$@" -name build -prune -o -type f \( -name '*.h' -o -name '*.cc' \) -print | sort
}

cpp_folders() {
  local folder
  for folder in "$@"; do
    if [[ -d $folder ]]; then echo "$folder"; fi
  done
}

# Sources outside tests/.
product_sources() {
  local folders
  mapfile -t folders < <(cpp_folders common server client)
  cpp_files "${folders[@]}" | grep '\.cc$'
}

shell_files() {
  printf '%s\n' dev .ci/run
  find tools tests -name '*.sh' | sort
}

check_format() {
  local folders
  mapfile -t folders < <(cpp_folders common server client tests)
  cpp_files "${folders[@]}" | xargs clang-format-14 --dry-run -Werror 2>&1 |
    sed -n 's/^\([^: ]*\):[0-9].* error: .*/\1: not as clang-format wants it; try .\/dev format/p' |
    uniq | fail_on_output
}

# Afresh: it says how files are compiled today.
check_configuration() {
  rm -rf "build/$TIDY"
  configure_preset "$TIDY"
}

# --- what clang looks at: what has changed, what includes that, and a share of the rest ---

# Files of ours that have changed, and all that include one of them.
changed_and_including() { # changed_and_including BASE
  local found more
  found=$(changed_files "$1" | grep -E '^(common|server|client)/.*\.(h|cc)$' || true)
  while [[ -n $found ]]; do
    more=$({
      echo "$found"
      awk '{ print "#include \"" $0 "\"" } sub("^client/include/", "") { print "#include <" $0 ">" }' <<<"$found" |
        grep --recursive --files-with-matches --fixed-strings --file=- common server client || true
    } | sort --unique)
    [[ $more != "$found" ]] || break
    found=$more
  done
  echo "$found"
}

# Every commit looks at another twentieth, so that twenty of them see all: whether it is this name's
# turn by one of the commits that are looked at.
has_its_turn() { # has_its_turn NAME LAST_COMMIT COMMITS
  local number
  number=$(cksum <<<"$1")
  (((($2 - ${number%% *}) % 20 + 20) % 20 < $3))
}

# What every source depends on.
changed_for_all() { # changed_for_all BASE
  changed_files "$1" | grep --extended-regexp '^(proto/|\.clang-tidy$|CMakePresets\.json$)' >/dev/null
}

# Keeps of the sources on standard input those that are to be looked at: all, where it is not known what
# has changed.
chosen_sources() {
  local base changed last commits source
  base=$(changed_since)
  if [[ -n ${HEADGATE_BASE:-} ]] && ! is_commit "$base"; then
    echo "there is no commit $base; looking at all" >&2
    base=
  fi
  if [[ -n ${CHECK_ALL:-} || -z $base ]] || changed_for_all "$base"; then
    cat
    return
  fi
  changed=$(changed_and_including "$base")
  last=$(commit_count) commits=$(git rev-list --count "$base..HEAD")
  while read -r source; do
    if grep --quiet --line-regexp --fixed-strings -e "$source" <<<"$changed" ||
      has_its_turn "$source" "$last" "$commits"; then
      echo "$source"
    fi
  done
}

# What clang-tidy reads: sources by the handful as that preset compiles them, which takes a quarter of
# the time, and those that are compiled alone.
tidy_sources() {
  local handfuls chosen
  chosen=$(product_sources | chosen_sources)
  mapfile -t handfuls < <(find "build/$TIDY"/{common,server,client} -name 'unity_*.cxx' | sort)
  # Without any, grep and sed below would read what comes from standard input instead.
  if ((${#handfuls[@]} == 0)); then
    echo "build/$TIDY has no unity_*.cxx, which tell what clang-tidy is to read"
    return 1
  fi >&2
  awk -v root="$PWD" '{ print "#include \"" root "/" $0 "\"" }' <<<"$chosen" |
    grep --files-with-matches --fixed-strings --file=- "${handfuls[@]}" || true
  grep --invert-match --line-regexp --fixed-strings --file=<(
    sed -n "s|^#include \"$PWD/\(.*\)\"$|\1|p" "${handfuls[@]}") <<<"$chosen" || true
}

# clang-tidy-14, until HEADGATE_TIDY_MINUTES of a step are over: from then on it is said what is left out.
tidy_in_time() {
  if (($(date +%s) > TIDY_UNTIL)); then
    printf '  no time left for %s\n' "$@" | grep -E '\.(cc|cxx)$'
  else
    clang-tidy-14 --quiet "$@"
  fi
}

# run_tidy PROCESSES FILES_AT_ONCE OPTION...: of the files that are named on standard input.
run_tidy() {
  local processes=$1
  local at_once=$2
  export TIDY_UNTIL=$(($(date +%s) + 60 * ${HEADGATE_TIDY_MINUTES:-600}))
  shift 2
  export -f tidy_in_time
  # shellcheck disable=SC2016
  xargs --no-run-if-empty --max-procs="$processes" --max-args="$at_once" \
    bash -c 'tidy_in_time "$@"' tidy "$@" 2>&1 | { grep -v '^[0-9]* warnings* generated\.$' || true; }
}

# Tests are left to the compiler's warnings.
check_tidy() {
  tidy_sources | run_tidy "$(heavy_jobs)" 1 -p "build/$TIDY" \
    --checks=-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option
}

# Each file by itself, so that it has to include what it uses, and use what it names. Generated headers
# must be there.
check_each_file() {
  local alone=$PWD/build/$TIDY/alone
  build_preset "$TIDY" headgate_proto_sources >/dev/null || return
  mkdir -p "$alone"
  {
    printf '%s\n' -std=c++20 "-I$PWD" "-I$PWD/client/include" \
      -isystem "$PWD/build/$TIDY/proto/generated" '-DHEADGATE_VERSION=""' -Wthread-safety
    pkg-config --cflags-only-I libpqxx libpq | xargs --max-args=1
  } >"$alone/compile_flags.txt"
  product_sources | chosen_sources | run_tidy "$(build_jobs)" 4 -p "$alone" --warnings-as-errors='*' \
    --checks='-*,misc-unused-using-decls,clang-diagnostic-thread-safety*'
}

# Its own status tells a fault from a tool that cannot be had.
check_protos() {
  require_tool buf || return
  (cd proto && "$(tool_path buf)" lint)
}

check_shell() {
  shell_files | xargs shellcheck --external-sources
}

# check_step TITLE FUNCTION...
check_step() {
  local title=$1 status=0 output began=$SECONDS
  shift
  printf '%-44s' "$title"
  output=$("$@" 2>&1) || status=$?
  if ((status == 0)); then
    echo "ok, $((SECONDS - began)) s"
  elif ((status == 77)) && [[ ${CI:-} != true ]]; then
    echo "SKIPPED"
  else
    echo "FAILED, $((SECONDS - began)) s"
    FAILED_CHECKS+=("$title")
  fi
  if [[ -n $output ]]; then echo "$output"; fi
}

run_checks() {
  check_step "format (clang-format)" check_format
  check_step "rooms and their arrows" tools/check_rules.sh arrows
  check_step "pages of the wings" tools/check_rules.sh wings
  check_step "table of the rooms" tools/check_rules.sh rooms
  check_step "packages of the protos" tools/check_rules.sh protos
  check_step "clock, sleeps and randomness" tools/check_rules.sh clock
  check_step "length of files" tools/check_rules.sh length
  check_step "shell scripts (shellcheck)" check_shell
  check_step "protobuf style (buf lint)" check_protos
  check_step "Go (gofmt)" check_go_format
  check_step "Go that is generated" check_go_generated
  check_step "OpenAPI document" tools/openapi.sh check
  check_step "page (types, and what is built)" check_web
  check_step "build files (cmake)" check_configuration
  check_step "locks, and each file by itself (clang)" check_each_file
  check_step "clang-tidy" check_tidy
  if ((${#FAILED_CHECKS[@]} == 0)); then
    echo "check: ok"
    return 0
  fi
  printf 'check: FAILED: %s\n' "${FAILED_CHECKS[@]}"
  return 1
}
