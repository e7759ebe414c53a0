#!/usr/bin/env bash
# What the Dockerfile does in its build stage, on Debian:
#
#   tools/image_steps.sh packages               installs compiler and libraries
#   tools/image_steps.sh compile OUT            builds headgated and headgate into OUT/usr/bin
#   tools/image_steps.sh collect OUT RUNTIME    makes the root of the image, and /state
#
# Nobody keeps a list of libraries: ldd says which the programs need, dpkg which packages those are of.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/build.sh
source tools/build.sh
# shellcheck source=tools/linked.sh
source tools/linked.sh

packages() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get upgrade --yes
  apt-get install --yes --no-install-recommends \
    "${COMPILE_PACKAGES[@]}" binutils ca-certificates ccache jq tzdata
}

# With a volume at CCACHE_DIR, building again is quick.
compile() {
  local out=$1
  export CCACHE_DIR=${CCACHE_DIR:-/ccache}
  cmake --preset release
  cmake --build --preset release --parallel "$(build_jobs)" --target headgated headgate
  install -D --target-directory="$out/usr/bin" build/release/bin/headgated build/release/bin/headgate
}

# add RUNTIME FILE: at its place, /lib being /usr/lib as on Debian itself.
add() {
  local target=$2
  if [[ $target == /lib* ]]; then target=/usr$target; fi
  install -D --mode="$(stat --dereference --format=%a "$2")" "$2" "$1$target"
}

# add_package RUNTIME PACKAGE: what licence and security scanners look for.
add_package() {
  mkdir -p "$1/var/lib/dpkg/status.d"
  dpkg-query --status "$2" >"$1/var/lib/dpkg/status.d/${2%%:*}"
  add "$1" "/usr/share/doc/${2%%:*}/copyright"
}

add_accounts() {
  mkdir -p "$1/etc/headgate"
  echo 'headgate:x:65532:65532:Headgate:/var/lib/headgate:/usr/sbin/nologin' >"$1/etc/passwd"
  echo 'headgate:x:65532:' >"$1/etc/group"
  echo 'hosts: files dns' >"$1/etc/nsswitch.conf"
  cat >"$1/etc/headgate/headgate.yaml" <<'YAML'
# Without targets, budgets and rules everything is allowed. Mount a configuration over this folder.
{}
YAML
}

collect() {
  local out=$1 runtime=$2 files file package
  mkdir -p "$runtime/usr/lib" "$runtime/usr/lib64" /state
  ln -s usr/lib "$runtime/lib"
  ln -s usr/lib64 "$runtime/lib64"
  for file in headgated headgate; do
    install -D "$out/usr/bin/$file" "$runtime/usr/bin/$file"
    strip "$runtime/usr/bin/$file"
  done
  mapfile -t files < <(libraries "$out/usr/bin/headgated" "$out/usr/bin/headgate")
  # Without libraries something is wrong with ldd's output, not with the programs.
  ((${#files[@]} > 20)) || { echo "only these libraries: ${files[*]}" >&2 && return 1; }
  for file in "${files[@]}" /etc/ssl/certs/ca-certificates.crt; do add "$runtime" "$file"; done
  mkdir -p "$runtime/usr/share/zoneinfo"
  tar --create --directory=/usr/share/zoneinfo --exclude=./posix --exclude=./right . |
    tar --extract --directory="$runtime/usr/share/zoneinfo"
  for package in $(packages_of "${files[@]}") ca-certificates tzdata; do
    add_package "$runtime" "$package"
  done
  add_accounts "$runtime"
  mkdir -p "$runtime/usr/share/doc/headgate"
  tools/sbom.sh release "$out/usr/bin/headgated" "$out/usr/bin/headgate" >"$runtime/usr/share/doc/headgate/headgate.cdx.json"
}

case ${1:-} in
  packages | compile | collect) "$@" ;;
  *) echo "usage: tools/image_steps.sh packages | compile OUT | collect OUT RUNTIME" >&2 && exit 2 ;;
esac
