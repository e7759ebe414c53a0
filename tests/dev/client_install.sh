#!/usr/bin/env bash
# The installed SDK is all that another project needs: find_package(Headgate), build, run.
# Watches: client/include/ client/pqxx/ client/CMakeLists.txt cmake/ proto/
# Needs: headgate_client headgate_pqxx headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

BUILD=$(dirname "${HEADGATE_BIN:-$PWD/build/release/bin}")
ROOT=$(mktemp -d)
trap 'rm -r "$ROOT"' EXIT

fail() {
  echo "$*"
  exit 1
}

# quietly LOG COMMAND...: shows what a command printed only if it failed.
quietly() {
  local log=$ROOT/$1.log
  shift
  "$@" >"$log" 2>&1 || { cat "$log" && fail "failed: $*"; }
}

install_sdk() {
  quietly install cmake --install "$BUILD" --component client --prefix "$ROOT/prefix"
  quietly install cmake --install "$BUILD" --component client-pqxx --prefix "$ROOT/prefix"
}

headers_show_neither_grpc_nor_protobuf() {
  local found others='#include.*(grpc|protobuf|\.pb\.h|"(client|common|server)/)'
  found=$(grep -rnE "$others" "$ROOT/prefix/include") || return 0
  fail "a public header includes what users need not have: $found"
}

headers_stand_alone() {
  local header
  for header in "$ROOT"/prefix/include/headgate/*.h; do
    echo "#include <headgate/$(basename "$header")>" >"$ROOT/one.cc"
    quietly headers "${CXX:-c++}" -std=c++20 -fsyntax-only -I "$ROOT/prefix/include" "$ROOT/one.cc"
  done
}

# A project of somebody else's, with warnings in its own code.
write_project() {
  mkdir -p "$ROOT/project"
  cat >"$ROOT/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(Headgate 0.1 REQUIRED COMPONENTS pqxx)
add_executable(job job.cc)
target_compile_options(job PRIVATE -Wall -Wextra)
target_link_libraries(job PRIVATE Headgate::client)
add_executable(statements statements.cc)
target_link_libraries(statements PRIVATE Headgate::pqxx)
CMAKE
  cat >"$ROOT/project/job.cc" <<'CXX'
#include <headgate/client.h>
#include <headgate/fake.h>

#include <cstdio>

using namespace headgate::client;

int main() {
  int unused = 0;
  FakeHeadgate headgate;
  headgate.Deny(absl::Seconds(3));
  auto client = headgate.NewClient({.on_unreachable = OnUnreachable::Fail(), .identity = "job"});
  if (!client.ok()) return 1;
  { auto permit = (*client)->CheckOrWait({.estimated_cost = 5}, absl::Minutes(1)); }
  if (!(*client)->Flush(absl::Minutes(1)) || headgate.reports().size() != 1) return 2;
  if (headgate.time().Waited() < absl::Seconds(3)) return 3;

  auto real = Client::Create({.address = "127.0.0.1:1", .on_unreachable = OnUnreachable::Fail()});
  if (!real.ok() || !absl::IsUnavailable((*real)->Check({.identity = "job"}).status())) return 4;
  std::puts("waited, worked, reported");
}
CXX
  cat >"$ROOT/project/statements.cc" <<'CXX'
#include <headgate/fake.h>
#include <headgate/pqxx.h>

using namespace headgate::client;

int main(int argc, char** argv) {
  if (argc < 2) return 0;  // linking is the point
  FakeHeadgate headgate;
  auto client = headgate.NewClient({.on_unreachable = OnUnreachable::Fail()});
  pqxx::connection connection(argv[1]);
  return ExecThrottled(**client, connection, {}, "SELECT $1::int", 1).ok() ? 0 : 1;
}
CXX
}

# guide_snippet NUMBER: of the C++ in docs/clients.md.
guide_snippet() {
  awk -v wanted="$1" '/^```cpp$/ { inside = ++number == wanted; next } /^```$/ { inside = 0 } inside' \
    docs/clients.md
}

# All C++ of docs/clients.md, around rows and a database of the reader's own.
write_guide_snippets() {
  [[ $(guide_snippet 1) == *ChunkSize* ]] || fail "docs/clients.md does not begin with a backfill"
  [[ $(guide_snippet 2) == *actual_cost* ]] || fail "the second example of docs/clients.md is no Report"
  [[ $(guide_snippet 3) == *NewLease* ]] || fail "the third example of docs/clients.md is no lease"
  [[ $(guide_snippet 4) == *TlsOptions* ]] || fail "the fourth example of docs/clients.md is not TLS"
  [[ $(guide_snippet 5) == *ExecThrottled* ]] || fail "the fifth example of docs/clients.md is not pqxx"
  [[ -z $(guide_snippet 6) ]] || fail "docs/clients.md has an example that nobody compiles"
  cat >"$ROOT/project/guide.h" <<CXX
#include <algorithm>
#include <cstdint>

inline constexpr int64_t kLastId = 2000;
inline int64_t copied = 0;
inline void CopyRows(int64_t /*first*/, int64_t rows) { copied += rows; }

$(guide_snippet 1)
CXX
  cat >"$ROOT/project/guide.cc" <<'CXX'
#include "guide.h"

#include <headgate/fake.h>

int main() {
  FakeHeadgate headgate;
  headgate.Deny(absl::Seconds(3));
  auto fake = headgate.NewClient({.on_unreachable = OnUnreachable::Fail(), .identity = "copy"});
  if (!client.ok() || !fake.ok() || !Backfill(**fake).ok()) return 1;
  if (!(*fake)->Flush(absl::Minutes(1)) || headgate.outstanding().size() != 0) return 3;
  return copied >= kLastId && headgate.time().Waited() >= absl::Seconds(3) ? 0 : 2;
}
CXX
  cat >"$ROOT/project/guide_tls.cc" <<CXX
#include <headgate/client.h>

using namespace headgate::client;

$(guide_snippet 4)

// There are no such files here.
int main() { return absl::IsInvalidArgument(client.status()) ? 0 : 1; }
CXX
  cat >"$ROOT/project/guide_lease.cc" <<CXX
#include <headgate/client.h>
#include <headgate/fake.h>
#include <headgate/lease.h>

#include <vector>

using namespace headgate::client;

struct Row {};
int copied = 0;
void Copy(const Row& /*row*/) { ++copied; }

absl::Status CopyAll(Client& client, const std::vector<Row>& rows) {
$(guide_snippet 3)
  return absl::OkStatus();
}

int main() {
  FakeHeadgate headgate;
  auto fake = headgate.NewClient({.on_unreachable = OnUnreachable::Fail()});
  if (!fake.ok() || !CopyAll(**fake, std::vector<Row>(1000)).ok()) return 1;
  if (!(*fake)->Flush(absl::Minutes(1)) || headgate.outstanding().size() != 0) return 3;
  return copied == 1000 ? 0 : 2;
}
CXX
  cat >"$ROOT/project/guide_report.cc" <<CXX
#include <headgate/client.h>

#include <optional>

using namespace headgate::client;

void Reports(std::optional<Permit>& permit, double rows_copied, absl::Duration took,
             absl::Duration waited_for_postgres) {
$(guide_snippet 2)
}

int main() {}  // compiling is the point
CXX
  cat >"$ROOT/project/guide_pqxx.cc" <<CXX
#include <headgate/pqxx.h>

#include <cstdint>

using namespace headgate::client;

absl::Status Delete(Client* client, pqxx::connection& connection, int64_t first, int64_t last) {
$(guide_snippet 5)
  return deleted.status();
}

int main() {}  // compiling is the point
CXX
  cat >>"$ROOT/project/CMakeLists.txt" <<'CMAKE'
foreach(name guide guide_lease guide_report guide_tls guide_pqxx)
  add_executable(${name} ${name}.cc)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(${name} PRIVATE Headgate::client Headgate::pqxx)
endforeach()
CMAKE
}

# What was built with sanitizers is linked with them.
sanitizer_flags() {
  sed -n 's/^HEADGATE_SANITIZE:[A-Z]*=\(..*\)$/-fsanitize=\1/p' "$BUILD/CMakeCache.txt"
}

project_builds_and_runs() {
  local output
  quietly configure cmake -S "$ROOT/project" -B "$ROOT/build" -G Ninja \
    -DCMAKE_PREFIX_PATH="$ROOT/prefix" -DCMAKE_CXX_FLAGS="$(sanitizer_flags)"
  quietly build cmake --build "$ROOT/build" --parallel 1
  grep -q "unused variable" "$ROOT/build.log" || fail "the project's own warnings are lost"
  output=$("$ROOT/build/job") || fail "the project's job ended with $?: $output"
  [[ $output == "waited, worked, reported" ]] || fail "the project's job says: $output"
  "$ROOT/build/guide" || fail "the backfill of docs/clients.md ended with $?"
  "$ROOT/build/guide_lease" || fail "the lease of docs/clients.md ended with $?"
  "$ROOT/build/guide_tls" || fail "the client with TLS of docs/clients.md ended with $?"
  "$ROOT/build/statements" || fail "the project's statements ended with $?"
}

other_versions_are_refused() {
  sed -i 's/Headgate 0.1/Headgate 0.2/' "$ROOT/project/CMakeLists.txt"
  if cmake -S "$ROOT/project" -B "$ROOT/build-other" -G Ninja \
    -DCMAKE_PREFIX_PATH="$ROOT/prefix" >"$ROOT/other.log" 2>&1; then
    fail "version 0.1 is taken for 0.2"
  fi
  grep -q 'compatible with requested version "0.2"' "$ROOT/other.log" ||
    fail "$(cat "$ROOT/other.log")"
}

install_sdk
headers_show_neither_grpc_nor_protobuf
headers_stand_alone
write_project
write_guide_snippets
project_builds_and_runs
other_versions_are_refused
echo "another project finds, links and runs the installed SDK"
