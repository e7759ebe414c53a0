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

# The short names that the copyright files of packages have, as "PACKAGE NAME;NAME" by tabs; without names where a file is none
# that machines read.
licences_of() { # licences_of PACKAGE...
  local package
  for package in "${@%%:*}"; do
    awk -v package="$package" '
      NR == 1 { readable = /^Format: / }
      readable && /^License: *[^ ]/ { sub(/^License: */, ""); if (!($0 in seen)) { seen[$0] = 1; names = names (names ? ";" : "") $0 } }
      END { print package "\t" names }' "/usr/share/doc/$package/copyright"
  done
}

# A component for each package, with what it is used for.
components_of() { # components_of USE PACKAGE...
  local use=$1
  shift
  join -t $'\t' <(dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\n' "$@" | sort --unique) \
    <(licences_of "$@" | sort --unique) |
    jq --raw-input --arg use "$use" 'split("\t") as [$package, $version, $architecture, $licences]
      | "pkg:deb/debian/\($package | @uri)@\($version | @uri)?arch=\($architecture)&distro=debian-12" as $purl
      | {type: "library", "bom-ref": $purl, name: $package, version: $version, purl: $purl,
         licenses: [(if $licences == "" then "see /usr/share/doc/\($package)/copyright" else $licences / ";" | .[] end)
           | {license: {name: .}}],
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
  local preset=$1 linked headers
  shift
  mapfile -t linked < <(libraries "$@")
  mapfile -t linked < <(packages_of "${linked[@]}")
  mapfile -t headers < <(headers_of "$preset")
  ((${#headers[@]} > 100)) || { echo "only these headers: ${headers[*]}" >&2 && return 1; }
  mapfile -t headers < <(packages_of "${headers[@]}")
  components_of linked "${linked[@]}"
  components_of headers "${headers[@]}"
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
