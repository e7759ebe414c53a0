#!/usr/bin/env bash
# A real server under mixed load, reloads and faults: no answer that was not expected, no budget
# overdrawn, and it recovers. In a long run, two minutes, memory, files and threads stay flat, too. See
# tests/soak/soak.h.
# Watches: tests/soak/ tests/load/ server/
# Needs: headgate-soak
set -euo pipefail

minutes=0.5
if [[ -n ${HEADGATE_LONG:-} ]]; then minutes=2; fi
# What was freed is kept for a while, to find who still uses it: as little as finds that.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16"

"${HEADGATE_BIN:-build/release/bin}/headgate-soak" --minutes "$minutes"
