# What has changed, and since when: the runner of tests asks, and ./dev check.
# shellcheck shell=bash

# The newest commit that is half a day older than the last one, or HEADGATE_BASE; nothing where there is no history.
changed_since() {
  local newest base=${HEADGATE_BASE:-}
  newest=$(git log -1 --format=%ct 2>/dev/null) || return 0
  [[ -n $base ]] || base=$(git rev-list -1 --before=$((newest - 43200)) HEAD)
  echo "${base:-$(git rev-list --max-parents=0 HEAD | tail --lines=1)}"
}

is_commit() { git rev-parse --quiet --verify "$1^{commit}" >/dev/null 2>&1; }

# Files that differ from that commit, or are new; of a file that has moved, both names.
changed_files() { # changed_files BASE
  { git diff --name-only --no-renames "$1" && git ls-files --others --exclude-standard; } | sort --unique
}

# How many commits there are: what rotates takes its turn by it.
commit_count() { git rev-list --count HEAD 2>/dev/null || echo 0; }
