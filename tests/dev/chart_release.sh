#!/usr/bin/env bash
# ./dev release publishes an image and the chart of a commit, once, in a folder and in a registry; and what it
# refuses to publish. The image is a small one: `./dev image` makes and tries the real one.
# Watches: helm/ tools/release.sh tools/version.sh tools/chart_metadata.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/version.sh
source tools/version.sh

require_release_tools() {
  local tool
  require_packages curl git jq yq || return
  for tool in helm oras crane grpcurl; do require_tool "$tool" || return; done
}
skip_without require_release_tools

ROOT=$PWD
WORK=$(mktemp --directory)
REGISTRY=  # Process of the registry.
stop_registry() {
  [[ -n $REGISTRY ]] || return 0
  kill "$REGISTRY" 2>/dev/null || true
  wait "$REGISTRY" || true
  REGISTRY=
}
stop() {
  stop_registry
  rm -rf "$WORK"
}
trap stop EXIT
VERSION=$(project_version)
REFUSED=0
export HELM_CACHE_HOME=$WORK HELM_CONFIG_HOME=$WORK HELM_DATA_HOME=$WORK KUBECONFIG=/dev/null
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

fail() {
  echo "FAILED: $*"
  exit 1
}

oras() { "$(tool_path oras)" "$@"; }

in_tree() { (cd "$WORK/tree" && "$@"); }

commit() { in_tree git -c user.name=test -c user.email=test@localhost commit --quiet --all --message "$1"; }

# A checkout of these files, whatever the state of this one.
make_tree() {
  mkdir -p "$WORK/tree/build"
  tar --create --exclude=./build --exclude=./.git . | tar --extract --directory="$WORK/tree"
  ln -s "$ROOT/build/tools" "$WORK/tree/build/tools"
  in_tree git init --quiet
  in_tree git add .
  commit "all of it"
}

# make_image FOLDER VERSION REVISION: an image with these labels, as a layout.
make_image() {
  local folder=$WORK/files
  mkdir -p "$folder"
  echo "$*" >"$folder/headgated"
  tar --create --file="$folder/layer.tar" --directory="$folder" headgated
  jq --null-input --arg version "$2" --arg revision "$3" '
    {architecture: "amd64", os: "linux", config: {Labels: {"org.opencontainers.image.version": $version,
      "org.opencontainers.image.revision": $revision}}}' >"$folder/config.json"
  (cd "$folder" && oras push --oci-layout "$1:$2" \
    --config config.json:application/vnd.oci.image.config.v1+json \
    layer.tar:application/vnd.oci.image.layer.v1.tar) >"$WORK/push.log" 2>&1 || fail "no image: $(<"$WORK/push.log")"
}

# refused TEXT ARGUMENT...: ./dev release fails with that text, and leaves the folder as it was.
refused() {
  local text=$1 output before
  shift
  before=$(find "$WORK/out" -type f -printf '%P %T@\n' 2>/dev/null | sort) || true
  if output=$(in_tree ./dev release "$@" 2>&1); then fail "it publishes $*: $output"; fi
  [[ $output == *"$text"* ]] || fail "of $* it says '$output' instead of '$text'"
  [[ $(find "$WORK/out" -type f -printf '%P %T@\n' 2>/dev/null | sort) == "$before" ]] ||
    fail "refused, it writes nevertheless: $*"
  REFUSED=$((REFUSED + 1))
}

# published WHAT ARGUMENT...: it succeeds, and prints the digests; leaves what it prints in $OUT.
published() {
  local what=$1
  shift
  OUT=$(in_tree ./dev release "$@" 2>&1) || fail "$what: $OUT"
  grep --quiet -E '^published image .*/headgate:[0-9.]+@sha256:[0-9a-f]{64}$' <<<"$OUT" || fail "$what: no image: $OUT"
  grep --quiet -E '^published chart .*/charts/headgate:[0-9.]+@sha256:[0-9a-f]{64}$' <<<"$OUT" ||
    fail "$what: no chart: $OUT"
}

printed_digest() { sed -n "s/^published $1 .*@//p" <<<"$OUT"; }

refuses_what_is_no_release() {
  local image=oci:$WORK/image:$VERSION
  echo more >"$WORK/tree/more"
  refused "the tree is dirty; commit or remove this first:" --to "oci:$WORK/out" --image "$image"
  refused "?? more" --to "oci:$WORK/out" --image "$image"
  rm "$WORK/tree/more"
  echo "# more" >>"$WORK/tree/helm/headgate/values.yaml"
  refused " M helm/headgate/values.yaml" --to "oci:$WORK/out" --image "$image"
  in_tree git checkout --quiet .
  make_image "$WORK/old" 0.0.9 "$HEAD"
  refused "is of version 0.0.9, not $VERSION" --to "oci:$WORK/out" --image "oci:$WORK/old:0.0.9"
  make_image "$WORK/other" "$VERSION" "$HEAD-dirty"
  refused "was made from $HEAD-dirty, not from this commit" --to "oci:$WORK/out" --image "oci:$WORK/other:$VERSION"
  refused "there is no image in $WORK/none:1" --to "oci:$WORK/out" --image "oci:$WORK/none:1"
  sed --in-place 's/^project(headgate VERSION [0-9.]*/project(headgate VERSION 7.0.0/' "$WORK/tree/CMakeLists.txt"
  commit "another version in one place"
  refused "another version or appVersion than CMakeLists.txt, 7.0.0" --to "oci:$WORK/out" --image "$image"
  sed --in-place -E 's/^(version|appVersion): .*/\1: 7.0.0/' "$WORK/tree/helm/headgate/Chart.yaml"
  commit "and in the other"
  refused "docs/upgrading.md has no section '## 7.0.0'" --to "oci:$WORK/out" --image "$image"
  in_tree git reset --quiet --hard "$HEAD"
}

# images_of PACKAGE: what the chart's pods run.
images_of() {
  "$(tool_path helm)" template demo "$1" --set insecure=true | sed -n 's/^ *image: "\(.*\)"$/\1/p' | sort --unique
}

publishes_to_a_folder() {
  local folder=$WORK/pulled files
  published "to a folder" --to "oci:$WORK/out" --image "oci:$WORK/image:$VERSION"
  [[ $(printed_digest image) == "$(oras manifest fetch --descriptor --oci-layout "$WORK/out/headgate:$VERSION" |
    jq --raw-output .digest)" ]] || fail "the image has another digest than it prints: $OUT"
  [[ $(printed_digest image) == "$(oras manifest fetch --descriptor --oci-layout "$WORK/image:$VERSION" |
    jq --raw-output .digest)" ]] || fail "another image is published than was given: $OUT"
  [[ $(printed_digest chart) == sha256:$(oras manifest fetch --oci-layout "$WORK/out/charts/headgate:$VERSION" |
    sha256sum | cut --fields=1 --delimiter=' ') ]] || fail "the chart has another digest than it prints: $OUT"
  oras pull --oci-layout "$WORK/out/charts/headgate:$VERSION" --output "$folder" >/dev/null
  [[ $("$(tool_path helm)" show chart "$folder/headgate-$VERSION.tgz" | yq --raw-output .version) == "$VERSION" ]] ||
    fail "the chart in the folder has another version"
  [[ $(images_of "$folder/headgate-$VERSION.tgz") == "headgate:$VERSION" ]] ||
    fail "the chart in the folder asks for another image"
  files=$(tar --list --file="$folder/headgate-$VERSION.tgz")
  [[ $files == *headgate/README.md* && $files != *headgate/ci/* ]] || fail "the chart has other files: $files"
}

refuses_what_is_published() {
  refused "charts/headgate:$VERSION is published already, $(printed_digest chart)" --to "oci:$WORK/out" \
    --image "oci:$WORK/image:$VERSION"
  # As if the first time had ended between the two.
  rm -r "$WORK/out/charts"
  make_image "$WORK/second" "$VERSION" "$HEAD"
  refused "$VERSION is published already, with another digest, $(printed_digest image)" --to "oci:$WORK/out" \
    --image "oci:$WORK/second:$VERSION"
  refused "if only the chart is missing, give that image by --image" --to "oci:$WORK/out"
  published "what is missing" --to "oci:$WORK/out" --image "oci:$WORK/image:$VERSION"
}

# Where no image is given, the one that `./dev image` makes is published; here it makes a small one.
publishes_what_it_builds() {
  local commit
  sed --in-place 's/^IMAGE_PACKAGES=.*/IMAGE_PACKAGES=()/' "$WORK/tree/tools/packages.sh"
  # shellcheck disable=SC2016
  printf 'make_image() { local to=${1#oci:} && mkdir -p build/publish && cp -r "%s" "${to%%:*}"; }\n' "$WORK/built" \
    >>"$WORK/tree/tools/image.sh"
  commit "a small image"
  commit=$(in_tree git rev-parse HEAD)
  refused "is published already" --to "oci:$WORK/out"
  make_image "$WORK/built" "$VERSION" "$HEAD"
  refused "was made from $HEAD, not from this commit" --to "oci:$WORK/new"
  rm -r "$WORK/built"
  make_image "$WORK/built" "$VERSION" "$commit"
  published "what it builds" --to "oci:$WORK/new"
  in_tree git reset --quiet --hard "$HEAD"
}

start_registry() {
  local end=$((SECONDS + 120))
  : >"$WORK/registry.log"
  "$(tool_path crane)" registry serve --address 127.0.0.1:0 >"$WORK/registry.log" 2>&1 &
  REGISTRY=$!
  while ((SECONDS <= end)); do
    # The line to its end: it may be there in part.
    if [[ $(cat "$WORK/registry.log" && echo .) =~ serving\ on\ port\ ([0-9]+)[^0-9.] ]]; then
      PORT=${BASH_REMATCH[1]}
      return
    fi
    sleep 0.1
  done
  fail "no registry: $(<"$WORK/registry.log")"
}

publishes_to_a_registry() {
  local to
  mkdir "$WORK/helm"
  start_registry
  to=localhost:$PORT/team
  published "to a registry" --to "$to" --image "oci:$WORK/image:$VERSION"
  "$(tool_path helm)" pull "oci://$to/charts/headgate" --version "$VERSION" --plain-http --destination "$WORK/helm" \
    >"$WORK/pull.log" 2>&1 || fail "helm does not find the chart: $(<"$WORK/pull.log")"
  grep --quiet "^Digest: $(printed_digest chart)\$" "$WORK/pull.log" ||
    fail "helm finds another one: $(<"$WORK/pull.log")"
  [[ $(images_of "$WORK/helm/headgate-$VERSION.tgz") == "$to/headgate:$VERSION" ]] ||
    fail "the chart does not ask for the image beside it"
  oras manifest fetch "$to/headgate:$VERSION" >/dev/null || fail "the image is not in the registry"
  refused "charts/headgate:$VERSION is published already" --to "$to" --image "oci:$WORK/image:$VERSION"
  stop_registry
  refused "cannot ask for $to/charts/headgate:$VERSION" --to "$to" --image "oci:$WORK/image:$VERSION"
}

make_tree
HEAD=$(in_tree git rev-parse HEAD)
make_image "$WORK/image" "$VERSION" "$HEAD"
refuses_what_is_no_release
publishes_to_a_folder
refuses_what_is_published
publishes_what_it_builds
publishes_to_a_registry
echo "published in a folder and in a registry, refused $REFUSED times"
