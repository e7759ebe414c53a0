# Which Debian packages Headgate needs, and how the missing ones are installed.
# shellcheck shell=bash disable=SC2034

# What it takes to build, tests and benchmarks included; the Dockerfile installs these too.
COMPILE_PACKAGES=(
  cmake g++ libabsl-dev libbenchmark-dev libboost1.81-dev libcli11-dev libcpp-httplib-dev libgmock-dev libgrpc++-dev
  libgtest-dev libpq-dev libpqxx-dev libprotobuf-dev libspdlog-dev libsqlite3-dev libssl-dev
  libxxhash-dev libyaml-cpp-dev ninja-build nlohmann-json3-dev pkgconf prometheus-cpp-dev
  protobuf-compiler protobuf-compiler-grpc rapidjson-dev)
# What the demo, benchmarks and the soak run with besides.
DEMO_PACKAGES=("${COMPILE_PACKAGES[@]}" postgresql-15)
BENCH_PACKAGES=("${DEMO_PACKAGES[@]}" openssl tzdata)
# What it takes to build and to test. `./dev test` on a bare machine installs these alone. Of
# prometheus only promtool is used, but Debian starts its service with it, as it does PgBouncer's: hence for tests alone.
# Completion is asked of its shells.
TEST_PACKAGES=("${BENCH_PACKAGES[@]}" curl faketime fish iproute2 pgbouncer prometheus ruby zsh)
CHECK_PACKAGES=(clang-14 clang-format-14 clang-tidy-14 jq shellcheck)
# Not needed, but welcome: faster rebuilds, and libFuzzer.
COMFORT_PACKAGES=(ccache libclang-rt-14-dev)
# What `./dev chart` reads YAML and JSON with, makes certificates and schedules with, and the store of several servers.
CHART_PACKAGES=(jq openssl postgresql-15 tzdata yq)
# The browser that the page is tried in; where there is no Node, it is not.
WEB_PACKAGES=(chromium fonts-dejavu-core openssl)
# What `./dev image` builds with, and looks at the result with.
IMAGE_PACKAGES=(buildah curl debootstrap iproute2 jq util-linux)

# What `./dev package` makes a Debian package with, and looks at it with.
PACKAGE_PACKAGES=(binutils debhelper dpkg-dev jq lintian man-db ninja-build)

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "installing packages takes root or sudo; run as root: $*"
    return 1
  fi
}

# missing_packages PACKAGE...: prints those which are not installed.
missing_packages() {
  local installed package
  installed=$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    awk '$1 == "installed" { print $2 }') || true
  for package in "$@"; do
    grep --quiet --line-regexp --fixed-strings "$package" <<<"$installed" || echo "$package"
  done
}

apt_quietly() {
  local log=$1
  shift
  as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes \
    -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}

# require_packages PACKAGE...: installs what is missing; says nothing when all is there.
require_packages() {
  local missing log
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system; taking these for installed: $*"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "install ${missing[*]}"
  mkdir -p build
  log=build/apt.log
  : >"$log"
  apt_quietly "$log" update || say "apt-get update failed; going on with the lists at hand"
  if ! apt_quietly "$log" install --no-install-recommends "${missing[@]}"; then
    tail --lines=40 "$log"
    say "could not install: ${missing[*]}"
    return 1
  fi
}
