#!/usr/bin/env bash
# headgate.example.yaml has every key that the server knows, in its section, and the server takes those
# that are commented out there, too.
# Watches: headgate.example.yaml proto/headgate/v1/config.proto server/govern/config/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

WORK=$(mktemp --directory)
trap 'rm -rf "$WORK"' EXIT
EXAMPLE=headgate.example.yaml

# Each place of a configuration that has keys, with one that is wrong. throttle_log.postgres has those of
# `primary`.
PLACES=(
  'wings: 1'
  'server: {wings: 1}'
  'tls: {wings: 1}'
  'access: {wings: 1}'
  'access: {callers: [{wings: 1}]}'
  'engine: {wings: 1}'
  'targets: [{wings: 1}]'
  'targets: [{primary: {wings: 1}}]'
  'targets: [{standbys: [{wings: 1}]}]'
  'targets: [{standbys: [{connection: {wings: 1}}]}]'
  'targets: [{polling: {wings: 1}}]'
  'targets: [{batch_work: {wings: 1}}]'
  'health_profiles: [{wings: 1}]'
  'health_profiles: [{signals: [{wings: 1}]}]'
  'budgets: [{wings: 1}]'
  'budgets: [{split: {wings: 1}}]'
  'budgets: [{auto_tuning: {wings: 1}}]'
  'rules: [{wings: 1}]'
  'rules: [{match: {wings: 1}}]'
  'rules: [{match: {schedule: {wings: 1}}}]'
  'rules: [{match: {schedule: {windows: [{wings: 1}]}}}]'
  'throttle_log: {wings: 1}'
  'cluster: {wings: 1}'
)

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Sections and the keys that the server says it knows in them: "server threads"; at the top "wings server".
write_known() {
  local place
  for place in "${PLACES[@]}"; do
    echo "$place" >"$WORK/wrong.yaml"
    { "$HEADGATE_BIN/headgate" config check "$WORK/wrong.yaml" 2>&1 || true; } >"$WORK/said"
    grep --quiet "unknown key 'wings'; known: " "$WORK/said" ||
      fail "of $place it does not say the keys that it knows: $(<"$WORK/said")"
    sed -n "s/.*unknown key 'wings'; known: //p" "$WORK/said" |
      grep --only-matching -E "[a-z_]+" | sed "s/^/${place%%:*} /"
  done | sort --unique
}

# section NAME FILE: what the file has of it, with what is commented out.
section() {
  awk -v start="^(# )?$1:" '/^(# )?[a-z_]+:/ { found = $0 ~ start } found' "$2"
}

# missing FILE: the keys that it lacks.
missing() {
  local name key
  while read -r name key; do
    if [[ $name == wings ]]; then
      grep --quiet -E "^(# )?$key:" "$1" || echo "the section $key"
    else
      section "$name" "$1" | grep -E "^[# ]*(- )?$key:" >"$WORK/null" || echo "$key of $name"
    fi
  done <"$WORK/known"
}

# uncommented FILE: with every key that is commented out in it.
uncommented() {
  local keys
  keys=$(cut --delimiter=' ' --fields=2 "$WORK/known" | sort --unique | paste --serial --delimiters='|')
  sed -E "s/^( *)# ( *(- )?($keys):( .*)?)\$/\1\2/" "$1"
}

# refused FILE: what the server says of it with all its keys.
refused() {
  uncommented "$1" >"$WORK/all.yaml"
  if "$HEADGATE_BIN/headgate" config check "$WORK/all.yaml" >"$WORK/said" 2>&1; then return 0; fi
  cat "$WORK/said"
}

# The checks notice a key that is not there, stands in another section, or has a value that is wrong.
checks_can_fail() {
  sed '/^ *# threads: /d' "$EXAMPLE" >"$WORK/planted.yaml"
  [[ $(missing "$WORK/planted.yaml") == "threads of server" ]] || fail "nobody misses threads"
  sed 's/^  # max_patterns: .*/  # wings: 1/' "$EXAMPLE" >"$WORK/planted.yaml"
  echo '  # max_patterns: 16384' >>"$WORK/planted.yaml"
  [[ $(missing "$WORK/planted.yaml") == "max_patterns of engine" ]] || fail "max_patterns may be anywhere"
  sed 's/# threads: 1$/# threads: 1000/' "$EXAMPLE" >"$WORK/planted.yaml"
  [[ $(refused "$WORK/planted.yaml") == *threads* ]] || fail "a wrong value behind # is not noticed"
}

write_known >"$WORK/known"
checks_can_fail
lacks=$(missing "$EXAMPLE")
[[ -z $lacks ]] || fail "$EXAMPLE lacks ${lacks//$'\n'/, }"
says=$(refused "$EXAMPLE")
[[ -z $says ]] || fail "$EXAMPLE with all that is commented out in it is refused: $says"
echo "$EXAMPLE has all $(wc -l <"$WORK/known") keys that the server knows"
