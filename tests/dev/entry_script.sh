#!/usr/bin/env bash
# ./dev keeps its promises about help, unknown commands and exit statuses.
# Watches: dev tools/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "$*"
  exit 1
}

# expect STATUS COMMAND...: leaves stdout and stderr in $OUT and $ERR.
expect() {
  local wanted=$1 status=0 folder
  shift
  folder=$(mktemp -d)
  "$@" >"$folder/out" 2>"$folder/err" || status=$?
  OUT=$(cat "$folder/out") ERR=$(cat "$folder/err")
  rm -r "$folder"
  ((status == wanted)) || fail "$* ended with $status instead of $wanted: $OUT $ERR"
}

help_lists_every_command() {
  local command
  expect 0 ./dev help
  while read -r command; do
    grep -q "^  $command " <<<"$OUT" || fail "help does not say what $command does"
  done < <(sed -n 's/^cmd_\([a-z]*\)() {$/\1/p' dev)
}

# The one that clang-tidy reads is made by ./dev check alone.
help_lists_every_preset() {
  local preset presets build
  expect 0 ./dev help
  build=$(grep -A 4 '^  build ' <<<"$OUT")
  mapfile -t presets < <(sed -n -E 's/.*"name": "(.*)", "configurePreset".*/\1/p' CMakePresets.json | grep -v '^tidy-')
  ((${#presets[@]} >= 5)) || fail "found no more presets than ${presets[*]}"
  for preset in "${presets[@]}"; do
    grep -q "\b$preset\b" <<<"$build" || fail "help does not say that there is a preset $preset"
    bash -c 'source tools/build.sh && known_preset "$1"' - "$preset" ||
      fail "./dev build does not know the preset $preset"
  done
}

help_is_what_no_command_means() {
  expect 0 ./dev
  [[ $OUT == *'usage: ./dev COMMAND'* ]] || fail "./dev alone prints no help"
}

unknown_commands_print_help_on_stderr() {
  expect 2 ./dev fly
  [[ -z $OUT ]] || fail "an unknown command writes to stdout: $OUT"
  [[ $ERR == *'no command fly'*'usage: ./dev COMMAND'* ]] || fail "no help on stderr: $ERR"
}

wrong_arguments_end_with_2() {
  expect 2 ./dev build no-such-preset
  expect 2 ./dev test --no-such-option
  expect 2 ./dev test -k
  expect 2 ./dev test --postgres
  expect 2 ./dev demo --postgres newest
  expect 2 ./dev bench
  expect 2 ./dev bench no-such-bench
  expect 2 ./dev chart no-such-chart
  expect 2 ./dev image one.tar two.tar
  expect 2 ./dev release
  expect 2 ./dev release --to
  expect 2 ./dev release --to oci:a --image b.tar
}

help_lists_every_command
help_lists_every_preset
help_is_what_no_command_means
unknown_commands_print_help_on_stderr
wrong_arguments_end_with_2
echo "help, presets, unknown commands and exit statuses are as promised"
