# What ./dev release does: the image and the chart of this commit, to a registry or to a local folder of OCI
# layouts, both under the project's version and under the same names:
#
#   DESTINATION/headgate:VERSION          the image
#   DESTINATION/charts/headgate:VERSION   the chart, as `helm push` would
#
# The image goes first, since a chart whose image is not there is of no use. Nothing is ever overwritten.
# shellcheck shell=bash

# shellcheck source=tools/version.sh
source tools/version.sh

RELEASE_WORK=$PWD/build/publish
RELEASE_TO=       # A registry and what comes before names in it, or the folder of layouts.
RELEASE_LAYOUT=   # "oci" where it is a folder.
RELEASE_CHART=helm/headgate

release_fail() {
  echo "release: $*" >&2
  exit 1
}

release_oras() { "$(tool_path oras)" "$@"; }

# release_place NAME: where it is published, as oras and people write it.
release_place() { echo "$RELEASE_TO/$1:$RELEASE_VERSION"; }

# release_at PREFIX: oras' flag for a local layout, such as --to-oci-layout with the prefix "to-".
release_at() { if [[ -n $RELEASE_LAYOUT ]]; then echo "--${1}oci-layout"; fi; }

# digest_in FLAG REFERENCE: of what stands there; nothing where it is not published. A registry that cannot
# be asked is not one without it.
digest_in() {
  local answer
  if [[ $1 == --oci-layout && ! -e ${2%:*}/index.json ]]; then return 0; fi
  if answer=$(release_oras manifest fetch --descriptor ${1:+"$1"} "$2" 2>&1); then
    jq --raw-output .digest <<<"$answer"
  elif ! grep --quiet --ignore-case -E 'not found|404|name[ _]unknown' <<<"$answer"; then
    echo "release: cannot ask for $2: $answer" >&2
    return 1
  fi
}

published_digest() { digest_in "$(release_at '')" "$(release_place "$1")"; } # published_digest NAME

# What is released is a commit, and says of itself what it is.
release_check_tree() {
  local changes
  git rev-parse --verify HEAD >/dev/null 2>&1 || release_fail "takes a git checkout: a release is a commit"
  changes=$(tree_changes)
  [[ -z $changes ]] || release_fail "the tree is dirty; commit or remove this first:
$changes"
  [[ $(yq --raw-output '"\(.version) \(.appVersion)"' "$RELEASE_CHART/Chart.yaml") == \
    "$RELEASE_VERSION $RELEASE_VERSION" ]] ||
    release_fail "$RELEASE_CHART/Chart.yaml has another version or appVersion than CMakeLists.txt, $RELEASE_VERSION"
  grep --quiet --line-regexp --fixed-strings "## $RELEASE_VERSION" docs/upgrading.md ||
    release_fail "docs/upgrading.md has no section '## $RELEASE_VERSION'"
}

# release_check_image LAYOUT: an image of this version, made from this commit.
release_check_image() {
  local labels version revision
  labels=$(release_oras manifest fetch-config --oci-layout "$1" | jq .config.Labels) ||
    release_fail "there is no image in $1"
  version=$(jq --raw-output '."org.opencontainers.image.version"' <<<"$labels")
  revision=$(jq --raw-output '."org.opencontainers.image.revision"' <<<"$labels")
  [[ $version == "$RELEASE_VERSION" ]] ||
    release_fail "the image in $1 is of version $version, not $RELEASE_VERSION"
  [[ $revision == "$(git rev-parse HEAD)" ]] ||
    release_fail "the image in $1 was made from $revision, not from this commit"
}

# release_image [LAYOUT]: publishes that image, or one that is built and tried now. Where the same one is
# there already, an earlier release got so far and no further.
release_image() {
  local layout=${1:-} digest there
  there=$(published_digest headgate) || exit
  if [[ -z $layout ]]; then
    [[ -z $there ]] || release_fail "$(release_place headgate) is published already, $there;" \
      "if only the chart is missing, give that image by --image"
    layout=$RELEASE_WORK/image:$RELEASE_VERSION
    rm -rf "${layout%:*}"
    ./dev image "oci:$layout" || exit
  fi
  release_check_image "$layout"
  digest=$(digest_in --oci-layout "$layout") || exit
  [[ -z $there || $there == "$digest" ]] ||
    release_fail "$(release_place headgate) is published already, with another digest, $there"
  if [[ -z $there ]]; then
    release_oras copy --no-tty --from-oci-layout "$layout" ${RELEASE_LAYOUT:+--to-oci-layout} \
      "$(release_place headgate)" >"$RELEASE_WORK/image.log" 2>&1 || release_fail "$(<"$RELEASE_WORK/image.log")"
  fi
  say "published image $(release_place headgate)@$digest"
}

# The chart as it is committed. In a registry its image is the one beside it.
release_package() {
  local folder=$RELEASE_WORK/chart
  rm -rf "$folder" && mkdir -p "$folder"
  git archive HEAD "$RELEASE_CHART" | tar --extract --directory="$folder"
  if [[ -z $RELEASE_LAYOUT ]]; then
    sed --in-place "s#^  repository: headgate\$#  repository: $RELEASE_TO/headgate#" \
      "$folder/$RELEASE_CHART/values.yaml"
    [[ $(yq --raw-output .image.repository "$folder/$RELEASE_CHART/values.yaml") == "$RELEASE_TO/headgate" ]] ||
      release_fail "image.repository of the chart cannot be set"
  fi
  "$(tool_path helm)" package "$folder/$RELEASE_CHART" --version "$RELEASE_VERSION" \
    --app-version "$RELEASE_VERSION" --destination "$folder" >/dev/null
  "$(tool_path helm)" show chart "$folder/headgate-$RELEASE_VERSION.tgz" | yq . >"$folder/config.json"
}

# `helm push` knows no folders; oras writes to both what it would.
release_push_chart() {
  local flag
  flag=$(release_at '')
  (cd "$RELEASE_WORK/chart" && release_oras push --no-tty ${flag:+"$flag"} "$(release_place charts/headgate)" \
    --config config.json:application/vnd.cncf.helm.config.v1+json \
    --annotation "org.opencontainers.image.title=headgate" \
    --annotation "org.opencontainers.image.version=$RELEASE_VERSION" \
    --annotation "org.opencontainers.image.revision=$(git rev-parse HEAD)" \
    "headgate-$RELEASE_VERSION.tgz:application/vnd.cncf.helm.chart.content.v1.tar+gzip") \
    >"$RELEASE_WORK/chart.log" 2>&1 || release_fail "$(<"$RELEASE_WORK/chart.log")"
}

# publish TO [LAYOUT]: TO is a registry with what comes before names in it, or oci:FOLDER; LAYOUT an image as
# `./dev image oci:FOLDER:VERSION` makes it.
publish() {
  local there layout=${2:-}
  RELEASE_TO=${1%/} RELEASE_LAYOUT='' RELEASE_VERSION=$(project_version)
  if [[ $RELEASE_TO == oci:* ]]; then
    RELEASE_LAYOUT=oci
    RELEASE_TO=$(realpath --canonicalize-missing "${RELEASE_TO#oci:}")
  fi
  release_check_tree
  mkdir -p "$RELEASE_WORK"
  there=$(published_digest charts/headgate) || exit
  [[ -z $there ]] || release_fail "$(release_place charts/headgate) is published already, $there"
  release_image ${layout:+"${layout#oci:}"}
  release_package
  release_push_chart
  there=$(published_digest charts/headgate) || exit
  [[ -n $there ]] || release_fail "the chart is not there after it was pushed"
  say "published chart $(release_place charts/headgate)@$there"
}
