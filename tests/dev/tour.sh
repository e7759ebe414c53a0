#!/usr/bin/env bash
# The preset that the README's tour is built with, without optimisation and without tests, makes both programs.
# Watches: CMakeLists.txt CMakePresets.json cmake/ proto/CMakeLists.txt tools/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

./dev build tour
for program in headgated headgate; do build/tour/bin/$program --version >/dev/null; done
echo "build/tour/bin has headgated and headgate"
