#!/usr/bin/env bash
# A Python program may have our schemas and upstream's copies of google.rpc in one process, whichever
# comes first, and reads a real error's details with either. That takes equal files: a descriptor pool
# refuses two different ones of one name. Every schema goes through the compiler for Python.
# Watches: proto/ tests/dev/python_protos.py
# Needs: headgated
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh

skip_without require_tool python
PYTHON=$(tool_path python)

# generate PROTOS OUT: Python for headgate.v1 and for google.rpc, in folders of their own, and what
# the compiler knows of all schemas.
generate() {
  local protos=$1 out=$2
  mkdir -p "$out/headgate" "$out/google"
  (
    cd "$protos"
    shopt -s globstar
    compile() { "$PYTHON" -m grpc_tools.protoc --proto_path=. "$@"; }
    compile --python_out="$out/headgate" --grpc_python_out="$out/headgate" headgate/v1/*.proto
    compile --python_out="$out/google" google/rpc/*.proto
    compile --descriptor_set_out="$out/descriptors" ./**/*.proto
  )
}

# meet OUT: what is generated there meets upstream's, in each order, in both of protobuf's
# implementations, in a process of its own each time.
meet() {
  local implementation first
  for implementation in upb python; do
    for first in ours theirs; do
      PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=$implementation \
        "$PYTHON" tests/dev/python_protos.py "$1" "$first" "$ADDRESS" || return
    done
  done
}

# refused SCRIPT FILE: our schemas, with this script of sed applied to one, do not meet upstream's.
refused() {
  local output
  rm -rf "$WORK/planted" "$WORK/planted.out"
  cp -r proto "$WORK/planted"
  sed -i "$1" "$WORK/planted/$2"
  generate "$WORK/planted" "$WORK/planted.out"
  if output=$(meet "$WORK/planted.out" 2>&1); then fail "nobody notices '$1' in $2"; fi
  grep --quiet "$2" <<<"$output" || fail "'$1' in $2 is not named: $output"
}

echo '{}' >"$WORK/headgate.yaml"
start_server

generate proto "$WORK/ours"
meet "$WORK/ours" || fail "our schemas do not meet upstream's"
refused '/LocalizedMessage localized_message/d' google/rpc/error_details.proto
refused '/^option go_package/d' google/rpc/status.proto
refused '/SERVICE_UNKNOWN = 3/d' grpc/health/v1/health.proto
refused 's/original_request = 2/original = 2/' grpc/reflection/v1alpha/reflection.proto
echo "our schemas and upstream's met in one process, in each order; 4 others were refused"
