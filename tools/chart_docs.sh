# The values that docs/kubernetes.md shows: rendered, and the real headgated runs with what comes out.
# shellcheck shell=bash disable=SC2016

CHART_DOCS=docs/kubernetes.md

# write_fragments FOLDER: each YAML fragment into a file of its own; prints line and name.
write_fragments() {
  awk -v folder="$1" '
    /^```yaml fragment$/ { name = sprintf("%s/%02d.yaml", folder, ++count); print FNR + 1, name; next }
    /^```/ { name = "" }
    name != "" { print > name }' "$CHART_DOCS"
}

# As a reader would who has got so far: each fragment of values, with those above it. Others are
# objects of Kubernetes.
check_docs() {
  local folder=$CHART_WORK/docs line name fragments=()
  rm -rf "$folder" && mkdir "$folder"
  write_fragments "$folder" >"$folder/list"
  while read -r line name; do
    if [[ $(yq 'has("apiVersion")' "$name") == true ]]; then continue; fi
    fragments+=("$name")
    yq --slurp --yaml-output 'reduce .[] as $one ({}; . * $one)' "${fragments[@]}" \
      >"$folder/line-$line.yaml"
    check_values_file "$folder/line-$line.yaml"
    CHART_DOCS_TRIED=$((CHART_DOCS_TRIED + 1))
  done <"$folder/list"
  ((CHART_DOCS_TRIED)) || wrong "$CHART_DOCS shows no values"
}
