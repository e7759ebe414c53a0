#!/usr/bin/env bash
# A real server under mixed load, reloads and faults for two minutes: memory, files and threads flat,
# no answer that was not expected, no budget overdrawn. See tests/soak/soak.h.
set -euo pipefail

minutes=2
# Instrumented code is slow; less than this cannot be judged.
if awk -v scale="${HEADGATE_TEST_SCALE:-1}" 'BEGIN { exit !(scale < 1) }'; then minutes=1.25; fi
# What was freed is kept for a while, to find who still uses it: as little as finds that.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16"

"${HEADGATE_BIN:-build/release/bin}/headgate-soak" --minutes "$minutes"
