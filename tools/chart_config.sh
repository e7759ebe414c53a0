# Whether values.schema.json says of `config` what the server says of its file: whatever the server takes
# the schema takes, and what the schema refuses the server refuses.
# shellcheck shell=bash disable=SC2016  # jq's variables, not the shell's

CHART_PLANTED=0  # Wrong configurations that schema and server both refused.
CHART_TAKEN=0    # Configurations of the server's that the schema took.

# Valid instances of a schema, and each with one mistake: what is planted comes from the schema itself,
# so that a field that is added to the proto is tried without anybody thinking of it.
CHART_PLANTS='
.definitions as $all
| def resolve: if has("$ref") then $all[.["$ref"] | ltrimstr("#/definitions/")] else . end;
  def types: [.type // empty] | flatten;
  def is($type): types | index($type) != null;
  def is_text: is("string") and is("number");
  def sample:
    resolve
    | if has("anyOf") then .anyOf[0] | sample
      elif has("const") then .const
      elif has("enum") then .enum[0]
      elif is("object") then
        . as $schema
        | [.required[]?, .oneOf[0].required[]?] | map({key: ., value: ($schema.properties[.] | sample)})
        | from_entries
      elif is("array") then if .minItems then [.items | sample] else [] end
      elif is_text then "a"
      elif is("number") or is("integer") then .minimum // 1
      elif is("boolean") then true
      elif .pattern and (.pattern | startswith("^\\+")) then "5s"
      else "2027-01-31T18:00:00Z" end;
  def plant($word; $value): {word: $word, value: $value};
  def too_far($name):
    (.minimum // empty | plant($name; . - 1)), (.maximum // empty | plant($name; . + 1)),
    (.exclusiveMinimum // empty | plant($name; .));
  def plants($name):
    resolve
    | if has("anyOf") then
        ([$name] + [.anyOf[].properties // {} | keys[]] | join("|")) as $names
        | plant($name; "wings"), plant($name; []),
          (.anyOf[] | select(is("number")) | too_far($names)),
          (.anyOf[] | select(.properties) | plants($name) | select(.value | type == "object")
            | .word += "|\($name)")
      elif has("const") then plant($name; false), plant($name; "wings")
      elif has("enum") then plant($name; "WINGS"), plant($name; [])
      elif is("object") then
        . as $schema | sample as $good
        | ([.oneOf[]?.required[]]) as $alternatives
        | plant($name; "wings"),
          (if .additionalProperties == false then plant("wings"; $good + {wings: 1}) else empty end),
          (.required[]? as $key | plant($key; $good | del(.[$key]))),
          (if $alternatives | length > 0 then
             plant($alternatives[0]; $good | del(.[$alternatives[0]])),
             plant($alternatives[1]; $good + {($alternatives[1]): ($schema.properties[$alternatives[1]] | sample)})
           else empty end),
          (.properties // {} | to_entries[] | .key as $key
            | ($good | if $alternatives | index($key) then delpaths([$alternatives[] | [.]]) else . end) as $rest
            | .value | plants($key) | .value as $value | .value = ($rest | .[$key] = $value))
      elif is("array") then
        plant($name; "wings"),
        (if .minItems then plant($name; []) else empty end),
        (.items | plants($name) | .value |= [.])
      elif is_text then plant($name; []), plant($name; "")
      elif is("integer") or is("number") then
        plant($name; "wings"), plant($name; []),
        (if is("integer") then plant($name; 1.5) else empty end),
        too_far($name)
      elif is("boolean") then plant($name; "wings")
      elif .pattern and (.pattern | startswith("^\\+")) then plant($name; "5"), plant($name; "1 day"), plant($name; [])
      else plant($name; "tomorrow"), plant($name; []) end;
  {"$ref": "#/definitions/config.Config"} | plants("config") | select(.value | type == "object")
  | "\(.word)\t\(.value | tojson)"
'

# refused_by_schema VALUES: the keys below `configs` whose value is no configuration.
refused_by_schema() {
  local folder=$CHART_WORK/schema
  rm -rf "$folder"
  mkdir -p "$folder/templates"
  printf 'apiVersion: v2\nname: schema\nversion: 0.0.0\n' >"$folder/Chart.yaml"
  jq '{"$schema", definitions, properties: {configs: {
    additionalProperties: {"$ref": "#/definitions/config.Config"}}}}' "$CHART/values.schema.json" \
    >"$folder/values.schema.json"
  { chart_helm template schema "$folder" --values "$1" 2>&1 >"$CHART_WORK/schema.out" || true; } |
    tee "$CHART_WORK/schema.said" | sed -n "s#.*at '/configs/\([^/']*\).*#\1#p" | sort --unique
}

# check_planted REGEX: what the schema has to refuse, all of it that matches: the server does, and names the
# field, or that which a plain value may stand for.
check_planted() {
  local folder=$CHART_WORK/planted word value said name count=0
  rm -rf "$folder" && mkdir "$folder"
  jq --raw-output "$CHART_PLANTS" "$CHART/values.schema.json" |
    { grep --extended-regexp -e "$1" || true; } >"$folder/list"
  while IFS=$'\t' read -r word value; do
    printf -v name 'p%04d' "$((++count))"
    echo "$value" >"$folder/$name"
    echo "{\"$name\": $value}" >>"$folder/all"
    echo "$name" >>"$folder/names"
    if said=$("$CHART_BIN/headgate" config check "$folder/$name" 2>&1); then
      wrong "the schema refuses what the server takes: $value"
    fi
    [[ $said =~ ${word%s} ]] || wrong "of $value the server says nothing of $word: $said"
  done <"$folder/list"
  jq --slurp '{configs: add}' "$folder/all" >"$folder/values.json"
  refused_by_schema "$folder/values.json" >"$folder/refused"
  while read -r name; do
    wrong "the schema takes $(<"$folder/$name")"
  done < <(comm -23 "$folder/names" "$folder/refused")
  CHART_PLANTED=$((CHART_PLANTED + count))
}

# A YAML block of the documentation is a whole configuration, unless it says otherwise.
write_documented() { # write_documented FOLDER
  awk -v folder="$1" '
    /^```yaml$/ { name = sprintf("%s/%03d-line-%d-of-%s", folder, ++count, FNR, FILENAME); next }
    /^```/ { name = "" }
    name != "" { sub(/docs\//, "", name); print > name }' README.md docs/*.md
}

# Those that the server takes of the configurations that it is tried with.
write_taken() {
  local documented=$CHART_WORK/documented file name count=0
  rm -rf "$documented" && mkdir "$documented"
  write_documented "$documented"
  echo "configs:"
  for file in headgate.example.yaml tests/fuzz/corpus/config/* "$documented"/*; do
    # Documents and directives cannot stand inside of another one.
    if ! grep --quiet -E '^(---|\.\.\.|%)' "$file" &&
      "$CHART_BIN/headgate" config check "$file" &>"$CHART_WORK/null"; then
      printf -v name 't%04d' "$((++count))"
      echo "  # $file"
      echo "  $name:"
      sed -e '1s/^\xEF\xBB\xBF//' -e 's/^/    /' "$file"
      echo
    fi
  done
}

check_taken() {
  local values=$CHART_WORK/taken.yaml name count
  write_taken >"$values"
  count=$(grep --count '^  t[0-9]*:$' "$values")
  ((count > 10)) || wrong "only $count configurations that the server takes"
  while read -r name; do
    wrong "the schema refuses what the server takes, $(grep --before-context=1 "^  $name:" "$values" |
      head --lines=1): $(grep "/$name" "$CHART_WORK/schema.said")"
  done < <(refused_by_schema "$values")
  [[ ! -s $CHART_WORK/schema.said || $(<"$CHART_WORK/schema.said") == *"at '/configs/"* ]] ||
    wrong "helm does not read the configurations: $(<"$CHART_WORK/schema.said")"
  CHART_TAKEN=$((CHART_TAKEN + count))
}

# Only of these does the server take any number: a field's comment in the proto says its range.
check_ranges() {
  local boundless
  boundless=$(jq --raw-output '[.definitions | to_entries[] | select(.key | startswith("config.")) | .value
    | (.properties // {}, (.anyOf[]?.properties // {})) | to_entries[]
    | select((.value.type == "number" or .value.type == "integer")
        and (.value | has("minimum") or has("exclusiveMinimum") | not)).key] | unique | join(" ")' \
    "$CHART/values.schema.json")
  [[ $boundless == "hard priority soft" ]] ||
    wrong "numbers without a range are hard, priority and soft, but the schema has none of: $boundless"
}

check_config_schema() {
  local said
  said=$(tools/chart_schema.sh check "$CHART/values.schema.json") || wrong "$said"
  check_ranges
  check_planted ''
  ((CHART_PLANTED > 100)) || wrong "only $CHART_PLANTED wrong configurations come from the schema"
  check_taken
}
