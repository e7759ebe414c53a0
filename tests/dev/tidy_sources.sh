#!/usr/bin/env bash
# What clang-tidy reads is all that there is: by the handful, and what is in none alone. Where there are
# no handfuls, it is not known how files are compiled, and the check says so.
# Watches: tools/check.sh tools/changed.sh CMakePresets.json cmake/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tools/check.sh
source tools/check.sh

ROOT=$(mktemp --directory)
trap 'rm -r "$ROOT"' EXIT
cd "$ROOT"

fail() {
  echo "FAILED: $*"
  exit 1
}

mkdir -p {,"build/$TIDY/"}{common,server,client}
touch common/{a,b}.cc server/c.cc client/d.cc

if output=$(timeout 60 bash -c "$(declare -f); TIDY=$TIDY tidy_sources" 2>&1 </dev/null); then
  fail "without a handful there is this to read: $output"
fi
grep --quiet 'no unity_\*.cxx' <<<"$output" || fail "it is not said what is missing: $output"

printf '#include "%s"\n' "$ROOT"/common/{a,b}.cc >"build/$TIDY/common/unity_0_cxx.cxx"
printf '#include "%s"\n' "$ROOT/server/c.cc" >"build/$TIDY/server/unity_0_cxx.cxx"
output=$(CHECK_ALL=1 tidy_sources | sort | paste --serial --delimiters=' ')
expected="build/$TIDY/common/unity_0_cxx.cxx build/$TIDY/server/unity_0_cxx.cxx client/d.cc"
[[ $output == "$expected" ]] || fail "it reads: $output"
echo "clang-tidy reads handfuls and the rest"
