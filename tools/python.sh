# The SDK for Python: its generated code, its packages and its tests.
# shellcheck shell=bash

PYTHON_SDK=client/python

# generate_python FOLDER: the messages of the API in Python, as protoc makes them.
generate_python() {
  local file=headgate/v1/throttler_service
  mkdir -p "$1"
  (cd proto && "$(tool_path python_sdk)" -m grpc_tools.protoc --proto_path=. --python_out="$1" \
    --pyi_out="$1" "$file.proto")
}

# What is committed has to be what the schema says: who installs the package needs no compiler.
check_generated_python() {
  local fresh
  fresh=$(mktemp --directory)
  generate_python "$fresh" || return
  if ! diff --recursive --brief --exclude=__init__.py --exclude=__pycache__ "$fresh/headgate/v1" \
    "$PYTHON_SDK/headgate/v1"; then
    say "the generated code in $PYTHON_SDK is stale: run ./dev python --generate"
    return 1
  fi
  rm -r "$fresh"
}

check_python_style() {
  local ruff=$TOOLS/python_sdk/bin/ruff mypy=$TOOLS/python_sdk/bin/mypy settings=$PYTHON_SDK/pyproject.toml
  "$ruff" format --quiet --check --config "$settings" "$PYTHON_SDK" tests/sdk/python tests/bench/sdk &&
    "$ruff" check --quiet --config "$settings" "$PYTHON_SDK" tests/sdk/python tests/bench/sdk &&
    "$mypy" --config-file "$settings" --cache-dir build/python/mypy "$PYTHON_SDK/headgate" &&
    MYPYPATH=$PYTHON_SDK:tests/sdk/python "$mypy" --config-file "$settings" \
      --cache-dir build/python/mypy tests/sdk/python tests/bench/sdk
}

# The wheel and the sdist in build/python/dist, and what the wheel installs in build/python/site: tests
# run what users get.
build_python() {
  local pip=$TOOLS/python_sdk/bin/pip
  rm -rf build/python/dist build/python/site
  mkdir -p build/python
  "$(tool_path python_sdk)" -m build --no-isolation --outdir build/python/dist "$PYTHON_SDK" \
    >build/python/build.log 2>&1 || { cat build/python/build.log && return 1; }
  "$pip" install --quiet --disable-pip-version-check --no-deps --target build/python/site build/python/dist/*.whl
}

# test_python BIN [ARGUMENT...]: pytest's arguments; BIN is the folder of the programs.
test_python() {
  local bin=$1
  shift
  HEADGATE_BIN=$(realpath "$bin") PYTHONPATH=$PWD/build/python/site "$(tool_path python_sdk)" -m pytest \
    --quiet --no-header -p no:cacheprovider --numprocesses "${HEADGATE_TEST_JOBS:-3}" tests/sdk/python "$@"
}

# check_python BIN [ARGUMENT...]
check_python() {
  check_generated_python && build_python && check_python_style && test_python "$@"
}
