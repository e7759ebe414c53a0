#!/usr/bin/env bash
# What the documentation names exists: links and anchors, commands of ./dev, flags, tests, files,
# metrics, alerts; it has every line of the server's log; and its configurations are ones that the server takes.
#
# A YAML block in the documentation is a whole configuration of headgated, unless its info string
# says otherwise: ```yaml fragment. Flags are looked up in the help of all our programs, and in
# the sources of benchmarks, unless the command is somebody else's (THIRD_PARTY).
# Needs: headgated headgate headgate-demo headgate-soak
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

THIRD_PARTY='--build-arg|apt-get|buildah|cmake|curl|dbt|docker|gh-ost|git|go|grep|grpcurl|helm|jq|kubectl'
THIRD_PARTY+='|kubeconform|ninja|npm|nsenter|openssl|pg_dump|pgbench|podman|podman-compose|promtool|psql|python|sed|setpriv|systemctl'

# shellcheck source=tools/test_docs.sh
source tools/test_docs.sh

WORK=$(mktemp --directory)
trap 'rm -rf "$WORK"' EXIT
COMPLAINTS=$WORK/complaints
OPERATIONS=docs/operations.md
ALERTS=helm/headgate/rules/headgate.yaml
SERVER=server  # where lines of the log come from

fail() {
  echo "FAILED: $*"
  exit 1
}

complain() { echo "$*" >>"$COMPLAINTS"; }

# --- checks: each complains of what it misses ---

# The anchors that a page's headings make.
anchors() {
  awk '/^```/ { fenced = !fenced } !fenced && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
    sed -E -e 's/\[([^]]*)\]\([^)]*\)/\1/g' -e 's/[^[:alnum:] _-]//g' -e 's/ /-/g' |
    tr '[:upper:]' '[:lower:]'
}

check_links() {
  local file line target path anchor
  while IFS=$'\t' read -r file line target; do
    path=${target%%#*} anchor=
    if [[ $target == *#* ]]; then anchor=${target#*#}; fi
    path=$(dirname "$file")/$path
    if [[ -z ${target%%#*} ]]; then path=$file; fi
    if [[ ! -e $path ]]; then
      complain "$file:$line: there is no $target"
    elif [[ -n $anchor ]]; then
      anchors "$path" >"$WORK/anchors"
      grep --quiet --fixed-strings --line-regexp -e "$anchor" "$WORK/anchors" ||
        complain "$file:$line: $path has no heading for #$anchor"
    fi
  done < <(awk -F '\t' -v OFS='\t' '$3 == "text" {
    rest = $5
    gsub(/`[^`]*`/, "", rest)
    while (match(rest, /\]\([^)]*\)/)) {
      target = substr(rest, RSTART + 2, RLENGTH - 3)
      rest = substr(rest, RSTART + RLENGTH)
      if (target !~ /^(https?|mailto):/) print $1, $2, target
    }
  }' "$WORK/records")
}

check_dev_commands() {
  local file line command
  while IFS=$'\t' read -r file line command; do
    grep --quiet "^  $command " "$WORK/dev" || complain "$file:$line: ./dev has no command $command"
  done < <(commands | awk -F '\t' -v OFS='\t' '{
    while (match($3, /\.\/dev [a-z]+/)) {
      print $1, $2, substr($3, RSTART + 6, RLENGTH - 6)
      $3 = substr($3, RSTART + RLENGTH)
    }
  }')
}

check_flags() {
  local file line command flag help
  while IFS=$'\t' read -r file line command; do
    [[ $command == *--[a-z]* ]] || continue
    if [[ $command =~ ^(sudo )?([A-Z_]+=[^ ]* )*($THIRD_PARTY)( |$) ]]; then continue; fi
    help=$WORK/help
    if [[ $command == *./dev\ * ]]; then help=$WORK/dev; fi
    while read -r flag; do
      grep --quiet -E -e "(^|[^a-z-])$flag([^a-z-]|\$)" "$help" ||
        complain "$file:$line: no program of ours has $flag"
    done < <(grep --only-matching -E -e '(^|[^a-zA-Z0-9-])--[a-z][a-z0-9-]*' <<<"$command" |
      grep --only-matching -E -e '--[a-z][a-z0-9-]*')
  done < <(commands)
}

check_tests() {
  local file line name
  while IFS=$'\t' read -r file line name; do
    if [[ $name =~ ^[A-Z][A-Za-z0-9]+\.[A-Z][A-Za-z0-9]+$ ]]; then
      grep --quiet --fixed-strings --line-regexp -e "$name" "$WORK/tests" ||
        complain "$file:$line: there is no test $name"
    elif [[ $name =~ ^dev/[a-z_]+$ && ! -x tests/$name.sh ]]; then
      complain "$file:$line: there is no test $name"
    elif [[ $name =~ ^scenario/[a-z0-9-]+$ ]] &&
      ! grep --quiet --line-regexp -e "- name: ${name#scenario/}" tests/sdk/scenarios/*.yaml; then
      complain "$file:$line: there is no scenario ${name#scenario/}"
    fi
  done < <(spans)
}

# Paths of ours between backticks; those with a placeholder in capitals are left out.
check_paths() {
  local file line path
  local ours='^(\.ci|client|cmake|common|docs|helm|proto|server|tests|tools)/[a-z0-9_./-]+$'
  while IFS=$'\t' read -r file line path; do
    if [[ $path =~ $ours ]]; then
      compgen -G "$path*" >"$WORK/null" || complain "$file:$line: there is no $path"
    fi
  done < <(spans)
}

# headgate_log and headgate_store are schemas of PostgreSQL, and headgate_..._tests are programs.
check_metrics() {
  local file line metric
  if [[ ! -e $OPERATIONS ]]; then
    complain "there is no $OPERATIONS to look for metrics in"
    return
  fi
  while IFS=$'\t' read -r file line metric; do
    grep --quiet --word-regexp --fixed-strings -e "$metric" "$OPERATIONS" ||
      complain "$file:$line: $OPERATIONS does not have the metric $metric"
  done < <(spans | grep -v '^docs/operations.md' | awk -F '\t' -v OFS='\t' '
    $3 ~ /^headgate_[a-z_]+($|{)/ { sub(/{.*/, "", $3); if ($3 !~ /^headgate_(log|store)$/ && $3 !~ /_tests$/) print }')
}

# The events that the server writes into its log: what it writes by a variable is not seen.
log_events() {
  find "$SERVER" -name '*.cc' -exec cat {} + | tr '\n' ' ' |
    grep --only-matching -E \
      -e 'Log(Info|Warning|Error)\( *"[^"]+"' \
      -e 'WriteLine\([a-z_]+, *Log[A-Za-z]+, *"[^"]+"' \
      -e 'TellChange\([^";]*"[A-Za-z]+", *"[^"]+"' | sed -E 's/.*"([^"]+)"$/\1/' | sort --unique
}

check_log_lines() {
  local event
  while IFS= read -r event; do
    grep --quiet --fixed-strings -e "\`$event\`" "$OPERATIONS" ||
      complain "$OPERATIONS does not have the line of the log: $event"
  done < <(log_events)
}

# Alerts are named as in the Prometheus rules.
check_alerts() {
  local file line alert
  while IFS=$'\t' read -r file line alert; do
    grep --quiet -E -e "alert: $alert\$" "$ALERTS" || complain "$file:$line: there is no alert $alert"
  done < <(spans | awk -F '\t' -v OFS='\t' '$3 ~ /^Headgate[A-Z][A-Za-z]+$/')
}

# write_yaml: each whole configuration into a file of its own; prints file, line, and its name.
write_yaml() {
  awk -F '\t' -v OFS='\t' -v folder="$WORK/yaml" '
    $3 == "code" && $4 == "yaml" {
      if ($1 != file || $2 != last + 1) {
        name = folder "/" ++count ".yaml"
        print $1, $2, name
      }
      file = $1; last = $2
      print $5 > name
    }' "$WORK/records"
}

check_yaml() {
  local file line name wrong
  rm -rf "$WORK/yaml" && mkdir "$WORK/yaml"
  write_yaml >"$WORK/blocks"
  while IFS=$'\t' read -r file line name; do
    wrong=$("$HEADGATE_BIN/headgated" --check-config "$name" 2>&1) ||
      complain "$file:$line: the server refuses this configuration: ${wrong//$'\n'/; }"
  done <"$WORK/blocks"
}

# Each failure in a page of failure modes names a test that shows it.
check_failures_are_shown() {
  local page
  for page in "${DOCS[@]}"; do
    if [[ $page != *failure-modes.md ]]; then continue; fi
    awk -F '|' '
      /^\|/ && !/^\|-/ && $2 !~ /what fails/ && $(NF - 1) !~ /`[A-Za-z]+[.\/][A-Za-z_-]+`/ {
        print FILENAME ":" FNR ": no test shows this:" $2
      }' "$page" >>"$COMPLAINTS"
  done
}

check_no_private_paths() {
  grep --line-number -E '(^|[^a-z0-9_.])/(work|root|home/[a-z])' "${DOCS[@]}" /dev/null |
    sed 's/^/a path of one machine: /' >>"$COMPLAINTS" || true
}

check_all() {
  : >"$COMPLAINTS"
  read_docs
  check_links
  check_dev_commands
  check_flags
  check_tests
  check_paths
  check_metrics
  check_alerts
  check_log_lines
  check_yaml
  check_failures_are_shown
  check_no_private_paths
}

# --- what there is ---

help_of() { "$@" --help 2>&1 || true; }

subcommands() { sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

write_what_exists() {
  local program command nested
  ./dev help >"$WORK/dev"
  {
    for program in headgate headgated headgate-demo headgate-soak; do help_of "$HEADGATE_BIN/$program"; done
    # Benchmarks are not built for this: what their sources read is what they know.
    grep --no-filename --only-matching -E -e '"--[a-z][a-z0-9-]*' tests/bench/*.cc
    for command in $(help_of "$HEADGATE_BIN/headgate" | subcommands); do
      help_of "$HEADGATE_BIN/headgate" "$command"
      for nested in $(help_of "$HEADGATE_BIN/headgate" "$command" | subcommands); do
        help_of "$HEADGATE_BIN/headgate" "$command" "$nested"
      done
    done
  } >"$WORK/help"
  find tests -name '*.cc' -exec cat {} + | tr '\n' ' ' |
    grep --only-matching -E 'TEST(_F|_P)?\( *[A-Za-z0-9_]+, *[A-Za-z0-9_]+' |
    sed -E 's/.*\( *([A-Za-z0-9_]+), *([A-Za-z0-9_]+)/\1.\2/' >"$WORK/tests"
}

# --- the checks themselves can fail ---

TRIED=0

# plant TEXT: a page with nothing but that, and what is complained of it.
plant() {
  TRIED=$((TRIED + 1))
  printf '%s\n' "$1" >"$WORK/failure-modes.md"
  DOCS=("$WORK/failure-modes.md")
  check_all
}

# catches WHAT TEXT: a page with TEXT is complained of, in these words.
catches() {
  plant "$2"
  grep --quiet --fixed-strings -e "$1" "$COMPLAINTS" || fail "nobody notices: $2: $(<"$COMPLAINTS")"
}

# passes TEXT: a page that nobody complains of.
passes() {
  plant "$1"
  [[ ! -s $COMPLAINTS ]] || fail "a good page is complained of: $(<"$COMPLAINTS")"
}

# shellcheck disable=SC2016
checks_can_fail() {
  local fence='```' OPERATIONS=$WORK/operations.md ALERTS=$WORK/alerts.yaml SERVER=$WORK/server
  mkdir "$SERVER"
  echo '`headgate_ready`' >"$OPERATIONS"
  echo '      - alert: HeadgateDown' >"$ALERTS"
  catches 'there is no nowhere.md' 'See [this](nowhere.md).'
  catches 'no heading for #nothing' $'# Something\n\nSee [this](#nothing).'
  catches './dev has no command fly' 'Run `./dev fly`.'
  catches './dev has no command fly' $'Run\n\n    ./dev fly'
  catches 'has --wings' 'Start `headgated --wings`.'
  catches 'has --wings' $'Start\n\n'"$fence"$'sh\nheadgate status \\\n  --wings\n'"$fence"
  catches 'has --wings' 'Run `./dev test --wings`.'
  catches 'no test Crash.IsFun' 'As `Crash.IsFun` shows.'
  catches 'no test dev/nothing' 'As `dev/nothing` shows.'
  catches 'no scenario no-such-thing' 'As `scenario/no-such-thing` shows.'
  catches 'no test shows this: fire' '| fire | all burn | smoke | |'
  passes '| fire | all burn | smoke | `dev/docs` |'
  catches 'there is no server/nothing' 'In `server/nothing`.'
  passes 'See `headgate_ready{state="ready"}`.'
  catches 'the metric headgate_wings' 'See `headgate_wings_total`.'
  passes 'Then `HeadgateDown` fires.'
  catches 'no alert HeadgateHasWings' 'Then `HeadgateHasWings` fires.'
  echo 'LogInfo("has wings");' >"$SERVER/wings.cc"
  catches 'the line of the log: has wings' 'A good page.'
  printf '%s\n' 'TellChange(' '    it, "CreateWings", "wings created",' >"$SERVER/wings.cc"
  catches 'the line of the log: wings created' 'A good page.'
  echo '`wings created`' >>"$OPERATIONS"
  passes 'A good page.'
  catches 'refuses this configuration' "$fence"$'yaml\nbudgets: [{wings: 2}]\n'"$fence"
  catches 'a path of one machine' "In $(printf '/%s/here' root)."
  passes $'# A page\n\n[here](#a-page), `./dev test --sanitizers`, `headgated --config F`, `helm --x`.'
  passes "$fence"$'yaml fragment\nwings: 2\n'"$fence"
  passes "$fence"$'yaml\nbudgets: [{name: b}]\n'"$fence"
}

write_what_exists
checks_can_fail
all_docs
check_all
if [[ -s $COMPLAINTS ]]; then
  sort --unique "$COMPLAINTS"
  fail "$(sort --unique "$COMPLAINTS" | wc -l) things that the documentation names are not so"
fi
echo "${#DOCS[@]} pages name what exists, $(wc -l <"$WORK/blocks") configurations are taken;" \
  "the checks were tried on $TRIED planted pages"
