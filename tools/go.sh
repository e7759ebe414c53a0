# The Go SDK in client/go: its generated code, and its tests.
# shellcheck shell=bash

GO_SDK=client/go
GO_MODULE=github.com/headgate/headgate/client/go
# The SDK, and the runner of the scenarios, whose YAML the SDK has no use for.
GO_FOLDERS=("$GO_SDK" tests/sdk/go)

# Status 77: there is no Go, or it is too old to get what a module asks for.
require_go() {
  runtime_is_there go && return
  say "the Go SDK takes $(tool_runtime_text staticcheck), which is not installed"
  return 77
}

# generate_go FOLDER: what client/go/headgate/v1 has, as headgate/v1 there.
generate_go() {
  PATH=$TOOLS/bin:$PATH protoc -Iproto --go_out="$1" --go_opt="module=$GO_MODULE" \
    --go-grpc_out="$1" --go-grpc_opt="module=$GO_MODULE" proto/headgate/v1/*.proto
}

require_go_generators() { require_tool protoc-gen-go && require_tool protoc-gen-go-grpc; }

check_go_generated() {
  local fresh status=0
  require_go_generators || return
  fresh=$(mktemp --directory)
  generate_go "$fresh" && diff --recursive --brief "$fresh/headgate/v1" "$GO_SDK/headgate/v1" || status=1
  rm -rf "$fresh"
  ((status == 0)) || say "$GO_SDK/headgate/v1 is not what the protos make: ./dev go --generate"
  return "$status"
}

check_go_format() {
  require_go || return
  gofmt -l "${GO_FOLDERS[@]}" | sed 's/$/: not as gofmt wants it; try .\/dev format/' | fail_on_output
}

# in_go_folders COMMAND...: in each of them, to the first failure.
in_go_folders() {
  local folder
  for folder in "${GO_FOLDERS[@]}"; do
    (cd "$folder" && "$@") || return
  done
}

# Each block of Go in docs/clients.md stands in the tests, but for the program, which this prints.
go_program_of_docs() {
  EXAMPLES=$(<"$GO_SDK/headgate/example_test.go") awk '
    /^```go$/ { block = ""; inside = 1; began = FNR + 1; next }
    inside && /^```$/ {
      inside = 0
      if (block ~ /^package main\n/) program = block
      else if (!index(ENVIRON["EXAMPLES"] "\n", block)) {
        print "docs/clients.md:" began ": is not in the examples as it stands here" >"/dev/stderr"
        wrong = 1
      }
      next
    }
    inside { block = block $0 "\n" }
    END { printf "%s", program; exit wrong || program == "" }' docs/clients.md
}

# run_go_program FOLDER: the program of docs/clients.md, in a module of its own, as its readers make it.
run_go_program() {
  local sources=$PWD
  go_program_of_docs >"$1/main.go" || return
  (cd "$1" && go mod init copy-orders && go mod edit -replace "$GO_MODULE=$sources/$GO_SDK" &&
    go mod tidy && go run .)
}

# What failed of `go test -v`.
go_failures() { grep --invert-match --extended-regexp '^ *(=== |--- (PASS|SKIP)|PASS$|\?)' "$1" | head --lines=200; }

# test_go LOG: vet, staticcheck, and all tests under the race detector, against the programs in HEADGATE_BIN.
# The last line says how many there were.
test_go() {
  local log=$1
  in_go_folders go vet ./... || return
  in_go_folders "$(tool_path staticcheck)" ./... || return
  if ! in_go_folders go test -race -v -count=1 -parallel 8 -timeout 5m ./... >"$log" 2>&1; then
    go_failures "$log"
    return 1
  fi
  say "$(grep --count --extended-regexp '^ *--- PASS' "$log") tests in Go under the race detector, none left a goroutine"
}
