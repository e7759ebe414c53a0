#!/usr/bin/env bash
# All that release can build compiles: benchmarks and programs too that no test of the short run starts.
# Watches: CMakeLists.txt CMakePresets.json cmake/ common/ proto/ server/ client/ tests/bench/ tests/CMakeLists.txt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

./dev build release
echo "$(find build/release/bin -type f -executable | wc -l) programs"
