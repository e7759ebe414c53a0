# What the chart says of itself: the values in its README, its version, and what catalogues show of it.
# shellcheck shell=bash disable=SC2016

# shellcheck source=tools/version.sh
source tools/version.sh

# The table in the chart's README.md has every value with its default, and no other.
check_table() {
  local values=$CHART_WORK/values table=$CHART_WORK/table
  yq --raw-output '. as $all
    | [paths(type != "object" and type != "array" or length == 0)][]
    | . as $path | "\(map(tostring) | join(".")) \($all | getpath($path) | tojson)"' \
    "$CHART/values.yaml" | sort >"$values"
  sed -n 's/^| `\([^`]*\)` | `\([^`]*\)` |.*/\1 \2/p' "$CHART/README.md" | sort >"$table"
  diff "$values" "$table" >"$CHART_WORK/diff" ||
    wrong "$CHART/README.md does not have the values of $CHART/values.yaml: $(<"$CHART_WORK/diff")"
}

# The chart's appVersion is the version that the image's programs say, and the image's own label.
check_version() {
  local version
  version=$(project_version)
  [[ $(yq --raw-output '"\(.version) \(.appVersion)"' "$CHART/Chart.yaml") == "$version $version" ]] ||
    wrong "$CHART/Chart.yaml has another version or appVersion than $version, which is the project's"
  [[ $(sed -n 's/^ARG VERSION=//p' Dockerfile) == "$version" ]] ||
    wrong "the Dockerfile has another VERSION than $version, which is the project's"
  # The chart asks for an image of that tag.
  [[ $(grep --only-matching -E 'example\.com/headgate(:[0-9.]+)?( |$)' docs/kubernetes.md |
    grep --count -v -E "^example\.com/headgate:$version( |\$)") == "$(
      grep --count -F -e '--set image.repository=' docs/kubernetes.md)" ]] ||
    wrong "docs/kubernetes.md has an image with another tag than $version"
}

# Another image under the same tag is not what was tried.
check_base() {
  grep --quiet -E '^ARG BASE=[^@ ]+@sha256:[0-9a-f]{64}$' "$1" ||
    wrong "the Dockerfile does not name its base by digest"
}

# What catalogues show of the chart.
check_metadata() {
  local icon
  icon=data:image/svg+xml\;base64,$(base64 --wrap=0 "$CHART/icon.svg")
  [[ $(yq --raw-output .icon "$CHART/Chart.yaml") == "$icon" ]] ||
    wrong "$CHART/Chart.yaml does not have icon.svg"
  [[ $(yq --raw-output '.maintainers[0] | "\(.name) \(.url)"' "$CHART/Chart.yaml") == "Headgate https://$(
    sed -n 's/^option go_package = "\(.*\)\/client\/go\/.*/\1/p' proto/headgate/v1/config.proto)" ]] ||
    wrong "$CHART/Chart.yaml has another maintainer than the project, or another repository"
}
