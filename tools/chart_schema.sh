#!/usr/bin/env bash
# The part of helm/headgate/values.schema.json that is for `config`, made from proto/headgate/v1/config.proto,
# so that helm refuses what the server would refuse, before anything is sent to a cluster.
#
#   tools/chart_schema.sh write [SCHEMA [PROTOS]]   puts it there
#   tools/chart_schema.sh check [SCHEMA [PROTOS]]   says what differs
#
# Names, types, words of enums and alternatives are those of the proto. Its comments, which are the
# documentation of the fields, bring the rest by sentences of a fixed form: "Required.", "At least
# one.", "1 to 64", "At least 1048576", "Above 0, up to 1", "Exactly one of dsn, dsn_file and dsn_env is set". What
# only the server can tell, such as whether a rule charges a budget that exists, is left to it.
# shellcheck disable=SC2016  # jq's variables, not the shell's
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh

SCHEMA=${2:-helm/headgate/values.schema.json}
PROTOS=${3:-proto}
PROTO=headgate/v1/config.proto
# Between these two definitions everything is generated.
FIRST='    "config.first":'
LAST='    "config.last":'

# A plain value that may stand for a message, as server/govern/config/shorthand.cc reads it: a schema, or the name
# of the field that it stands for. Of percentages: any zero, up to 100, and whatever has an exponent.
PLAIN='{
  "Rate": ["units_per_second", {"enum": ["auto"]},
           {"type": "string", "pattern": "^(-?(0+(\\.0*)?|\\.0+)([eE][-+]?[0-9]+)?|0*(100(\\.0*)?|[0-9]{1,2}(\\.[0-9]*)?|\\.[0-9]+)|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)[eE][-+]?[0-9]+)%$"}],
  "Burst": ["units", "duration"],
  "OnStale": [{"enum": ["DENY", "ALLOW"]}, "speed"]
}'

# One line for each definition and property: lines of jq's own would be three times as many.
DEFINITIONS='
def ref($name): {"$ref": "#/definitions/config.\($name)"};
def clean: gsub("\\s+"; " ") | sub("^ "; "") | sub(" $"; "");
def text: ref("text");
def number_after($before; $after):
  [match("(?:^|[.,;] )\($before)([0-9]+(?:\\.[0-9]+)?)\($after)(?=[.,;]|$)").captures[0].string | tonumber]
  | first // null;
def bounds:
  number_after(""; " to [0-9]+(?:\\.[0-9]+)?") as $least
  | number_after("[0-9]+(?:\\.[0-9]+)? to "; "") as $most
  | number_after("At least "; "") as $floor
  | number_after("Above "; ", up to [0-9]+(?:\\.[0-9]+)?") as $above
  | number_after("Above [0-9]+(?:\\.[0-9]+)?, up to "; "") as $top
  | (if $least then {minimum: $least, maximum: $most}
     elif $above then {exclusiveMinimum: $above, maximum: $top}
     elif $floor then {minimum: $floor} else {} end);
def is_required: test("(^| )(Required|At least one)\\.( |$)");
def has_one: test("(^| )At least one\\.( |$)");
def alternatives: {oneOf: map({required: [.]})};
def is_choice: has("oneofIndex") and (.proto3Optional | not);
def local: ltrimstr(".headgate.v1.");

def scalar($enums; $comment):
  if .type == "TYPE_STRING" then text
  elif .type == "TYPE_BOOL" then if is_choice then {const: true} else {type: "boolean"} end
  elif .type == "TYPE_INT32" or .type == "TYPE_INT64" then {type: "integer"} + ($comment | bounds)
  elif .type == "TYPE_DOUBLE" then {type: "number"} + ($comment | bounds)
  elif .type == "TYPE_ENUM" then
    {enum: ($enums[.typeName | local] // error("no enum \(.typeName) in config.proto"))}
  elif .typeName == ".google.protobuf.Duration" then ref("duration")
  elif .typeName == ".google.protobuf.Timestamp" then ref("time")
  elif .type == "TYPE_MESSAGE" then ref(.typeName | local)
  else error("chart_schema.sh does not know \(.type)") end;

def property($enums; $maps; $comment):
  (if .type == "TYPE_MESSAGE" and $maps[.typeName] then
     {type: ["object", "null"], additionalProperties: {type: ["string", "number", "boolean"]}}
   elif .label == "LABEL_REPEATED" then
     if $comment | has_one then {type: "array", minItems: 1} else {type: ["array", "null"]} end
     + {items: scalar($enums; "")}
   else scalar($enums; $comment) end)
  + {description: $comment};

def choices($comment):
  [.field[]? | select(is_choice).name] as $names
  | ([$comment | match("Exactly one of ([a-z_, ]+) and ([a-z_]+) is set").captures[].string]
     | if length > 0 then (.[0] | split(", ")) + [.[1]] else [] end) as $named
  | if $names != [] then $names | alternatives elif $named != [] then $named | alternatives else {} end;

.file[] | select(.name == $proto)
| (reduce .sourceCodeInfo.location[] as $at ({};
    .[$at.path // [] | map(tostring) | join(",")] = ($at.leadingComments // "" | clean))) as $comments
| ([.enumType[] | .value[0].name as $zero
    | {key: .name, value: [.value[1:][].name | ltrimstr($zero | rtrimstr("UNSPECIFIED"))]}] | from_entries) as $enums
| ([.messageType[] | .name as $outer | .nestedType[]? | select(.options.mapEntry)
    | {key: ".headgate.v1.\($outer).\(.name)", value: true}] | from_entries) as $maps
| .messageType | to_entries[] | "4,\(.key)" as $path | $comments[$path] as $comment | .value
| .name as $name
| [.field // [] | to_entries[] | {field: .value, comment: $comments["\($path),2,\(.key)"]}] as $fields
| ([$fields[] | select(.comment | is_required).field.name]) as $required
| choices($comment) as $choices
| {type: (if $required == [] and $choices == {} then ["object", "null"] else "object" end),
   additionalProperties: false}
  + (if $required == [] then {} else {$required} end) + $choices + {description: $comment}
| (. | tojson | .[:-1]) as $head
| ([$fields[] | .comment as $about | .field
    | "        \(.name | tojson): \(property($enums; $maps; $about) | tojson)"] | join(",\n")) as $properties
| if $plain[$name] then
    ([$plain[$name][] as $one
      | if $one | type == "string" then
          $fields[] | select(.field.name == $one) | .comment as $about | .field | scalar($enums; $about)
        else $one end
      | tojson] | join(", ")) as $alternatives
    | "    \("config.\($name)" | tojson): {\"anyOf\": [\($alternatives),\n"
      + "      \($head), \"properties\": {\n\($properties)\n      }}]},"
  else "    \("config.\($name)" | tojson): \($head), \"properties\": {\n\($properties)\n    }},"
  end
'

generated() {
  cat <<JSON
$FIRST {"\$comment": "From here to config.last by tools/chart_schema.sh write."},
JSON
  (cd "$PROTOS" && "$(tool_path buf)" build . --path "$PROTO" --output -#format=json) |
    jq --raw-output --arg proto "$PROTO" --argjson plain "$PLAIN" "$DEFINITIONS" || return
  cat <<JSON
    "config.text": {"type": ["string", "number", "boolean"], "minLength": 1},
    "config.duration": {"type": "string", "pattern": "^\\\\+?(([0-9]+(\\\\.[0-9]*)?|\\\\.[0-9]+)(ns|us|ms|s|m|h))+\$"},
    "config.time": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].*([Zz]|[-+][0-9]{2}:?[0-9]{2})\$"},
$LAST {"\$comment": "The end of what tools/chart_schema.sh writes."},
JSON
}

# A message that the server reads from a plain value, and this script does not know.
check_plain() {
  local known read
  known=$(jq --raw-output 'keys[]' <<<"$PLAIN")
  read=$(sed -n 's/^ *{v1::\([A-Za-z]*\)::descriptor(), .*/\1/p' server/govern/config/shorthand.cc | sort)
  [[ $known == "$read" ]] ||
    { echo "chart_schema.sh has other plain values in PLAIN than server/govern/config/shorthand.cc" && return 1; }
}

# The schema, with what is generated anew.
with_generated() {
  if ! grep --quiet --fixed-strings -e "$FIRST" "$SCHEMA" || ! grep --quiet --fixed-strings -e "$LAST" "$SCHEMA"; then
    echo "$SCHEMA has no config.first and config.last" >&2
    return 1
  fi
  sed "/^$FIRST/,\$d" "$SCHEMA"
  generated || return
  sed "1,/^$LAST/d" "$SCHEMA"
}

check() {
  local new
  check_plain || return
  new=$(with_generated) || return
  diff "$SCHEMA" - <<<"$new" || { echo "$SCHEMA is not what $PROTO says: tools/chart_schema.sh write" && return 1; }
}

write() {
  local new
  check_plain
  new=$(with_generated)
  jq . <<<"$new" >/dev/null
  cat <<<"$new" >"$SCHEMA"
}

require_tool buf
case ${1:-} in
  write | check) "$1" ;;
  *) echo "usage: tools/chart_schema.sh write | check [SCHEMA [PROTOS]]" >&2 && exit 2 ;;
esac
