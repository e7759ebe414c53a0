#!/usr/bin/env bash
# What the programs are made of, as CycloneDX: Debian's packages whose libraries they are linked with or whose headers are
# compiled in, and the JavaScript of the page in headgated, each with version and licences.
#
#   tools/sbom.sh PRESET PROGRAM...     the programs as that preset has built them; prints JSON
#
# Nobody keeps a list: ldd says what is linked, ninja what was compiled, dpkg which packages those are of.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=tools/version.sh
source tools/version.sh
# shellcheck source=tools/linked.sh
source tools/linked.sh

# Files of the system that our own sources were compiled with.
headers_of() { # headers_of PRESET
  ninja -C "build/$1" -t deps 2>/dev/null |
    awk '/^[^ ]/ { ours = /^(common|proto|server|client)\// } /^ / && ours && $1 ~ /^\/usr\// { print $1 }' | sort --unique
}

# packages_listing FILE...: the packages that have them, as packages_of, by one look at dpkg's lists.
packages_listing() {
  printf '%s\n' "$@" | grep --files-with-matches --line-regexp --fixed-strings --file=- /var/lib/dpkg/info/*.list |
    sed 's#.*/##; s#\.list$##' | sort --unique
}

# The short names that a copyright file of Debian's has; nothing where it is none that machines read.
licences_of() { # licences_of PACKAGE
  local file=/usr/share/doc/$1/copyright
  head --lines=5 "$file" 2>/dev/null | grep --quiet '^Format: ' || return 0
  sed -n 's/^License: *\([^ ].*\)$/\1/p' "$file" | sort --unique
}

# PACKAGE USE: a component.
component() {
  local package=${1%%:*} use=$2 version architecture
  read -r version architecture < <(dpkg-query --show --showformat '${Version} ${Architecture}\n' "$1")
  licences_of "$package" | jq --raw-input --null-input --arg package "$package" --arg version "$version" \
    --arg architecture "$architecture" --arg use "$use" '
    [inputs] as $licences
    | "pkg:deb/debian/\($package | @uri)@\($version | @uri)?arch=\($architecture)&distro=debian-12" as $purl
    | {type: "library", "bom-ref": $purl, name: $package, version: $version, purl: $purl,
       licenses: (if $licences == [] then [{license: {name: "see /usr/share/doc/\($package)/copyright"}}]
                  else [$licences[] | {license: {name: .}}] end),
       properties: [{name: "headgate:use", value: $use}]}'
}

# What the page is bundled from.
page_components() {
  jq --slurpfile lock client/web/package-lock.json '
    .dependencies | keys[] | . as $name | $lock[0].packages["node_modules/\($name)"]
    | "pkg:npm/\($name)@\(.version)" as $purl
    | {type: "library", "bom-ref": $purl, name: $name, version: .version, purl: $purl,
       licenses: [{license: {id: .license}}], properties: [{name: "headgate:use", value: "in the page"}]}' \
    client/web/package.json
}

components() { # components PRESET PROGRAM...
  local preset=$1 linked headers package
  shift
  mapfile -t linked < <(libraries "$@")
  mapfile -t linked < <(packages_of "${linked[@]}")
  mapfile -t headers < <(headers_of "$preset")
  ((${#headers[@]} > 100)) || { echo "only these headers: ${headers[*]}" >&2 && return 1; }
  mapfile -t headers < <(packages_listing "${headers[@]}")
  for package in "${linked[@]}"; do component "$package" linked; done
  for package in "${headers[@]}"; do component "$package" headers; done
  page_components
}

main() {
  local revision
  revision=$(project_revision)
  components "$@" | jq --slurp --arg version "$(project_version)" --arg revision "${REVISION:-$revision}" '
    "pkg:generic/headgate@\($version)" as $purl
    | {bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
       metadata: {component: {type: "application", "bom-ref": $purl, name: "headgate", version: $version, purl: $purl,
         properties: [{name: "headgate:revision", value: (if $revision == "" then "unknown" else $revision end)}]}},
       components: .,
       dependencies: [{ref: $purl, dependsOn: [.[]."bom-ref"]}]}'
}

(($# >= 2)) || { echo "usage: tools/sbom.sh PRESET PROGRAM..." >&2 && exit 2; }
main "$@"
