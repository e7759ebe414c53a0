#!/usr/bin/env bash
# The OpenAPI document that the server has at /openapi.json, made from the protos.
#
#   tools/openapi.sh write [FILE]   puts it there
#   tools/openapi.sh check [FILE]   says what differs
#
# Paths, names, types and words of enums are those of the protos, as the server maps them to JSON
# (server/serve/gateway, server/serve/json); descriptions are the comments, and "Required." in one makes a field so.
# shellcheck disable=SC2016  # jq's variables, not the shell's
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh

FILE=${2:-server/serve/gateway/openapi.json}

DOCUMENT='
def clean: gsub("\\s+"; " ") | sub("^ "; "") | sub(" $"; "");
def local: ltrimstr(".headgate.v1.");
def ref($name): {"$ref": "#/components/schemas/\($name)"};
def described($comment): if $comment == "" then . else . + {description: $comment} end;
def path: gsub("(?<letter>[A-Z])"; "_\(.letter | ascii_downcase)") | ltrimstr("_") | "/v1/\(.)";
def first_sentence: [match("^.*?[.:](?= |$)").string] | first // "";

def scalar:
  if .type == "TYPE_STRING" then {type: "string"}
  elif .type == "TYPE_BOOL" then {type: "boolean"}
  elif .type == "TYPE_INT32" then {type: "integer", format: "int32"}
  elif .type == "TYPE_INT64" then {type: "string", format: "int64"}
  elif .type == "TYPE_UINT64" or .type == "TYPE_FIXED64" then {type: "string", format: "uint64"}
  elif .type == "TYPE_DOUBLE" then
    {oneOf: [{type: "number"}, {enum: ["NaN", "Infinity", "-Infinity"]}]}
  elif .typeName == ".google.protobuf.Duration" then
    {type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$", examples: ["1.500s"]}
  elif .typeName == ".google.protobuf.Timestamp" then {type: "string", format: "date-time"}
  elif .type == "TYPE_MESSAGE" or .type == "TYPE_ENUM" then ref(.typeName | local)
  else error("openapi.sh does not know \(.type)") end;
def property($maps):
  if $maps[.typeName // ""] then {type: "object", additionalProperties: {type: "string"}}
  elif .label == "LABEL_REPEATED" then {type: "array", items: scalar}
  else scalar end;

def content($schema): {"application/json": {schema: $schema}};
def answer($what; $name): {description: $what, content: content(ref($name))};
def error($what): answer($what; "Status");
def later: {"Retry-After": {description: "Whole seconds.", schema: {type: "integer"}}};
def errors:
  {"400": error("What is wrong, with the field."), "401": error("Nobody is known by this call."),
   "403": error("The caller may not do this."), "404": error("There is no such target, override or permit."),
   "503": (error("Too much to do, or starting or stopping.") + {headers: later})};

def operation($service; $comment):
  {operationId: .name, tags: [$service], summary: ($comment | first_sentence), description: $comment,
   requestBody: {required: true, content: content(ref(.inputType | local))},
   responses: ({"200": answer(if .name == "Check" then "Allowed." else "The answer." end; .outputType | local)}
     + (if .name == "Check" then
          {"429": (answer("Denied."; .outputType | local) + {headers: later})} else {} end)
     + errors)};

def batch_read:
  {operationId: "BatchRead", summary: "Several reads in one request, each answered as by itself.",
   description: "What reads: get_, list_, query_ and replay_ methods, and explain.",
   requestBody: {required: true, content: content(ref("BatchReadRequest"))},
   responses: ({"200": answer("The answers, in the order of the calls."; "BatchReadResponse")}
     + (errors | del(.["404"])))};

def freno($body):
  def code($what): {description: $what} + $body;
  {tags: ["freno"],
   parameters: [["app", "An identity."], ["store_type", "Such as postgresql; it is not looked at."],
                ["store", "A target."]
                | {name: .[0], in: "path", required: true, description: .[1], schema: {type: "string"}}],
   responses: {"200": code("Go on."), "404": code("There is no such target."),
               "417": code("A rule or an override is against it."), "429": code("Not now."),
               "500": code("The server cannot tell.")}};

[.file[] | select(.package == "headgate.v1" and .name != "headgate/v1/config.proto")] as $files
| ([$files[] | (reduce .sourceCodeInfo.location[] as $at ({};
      .[$at.path // [] | map(tostring) | join(",")] = ($at.leadingComments // "" | clean))) as $comments
    | . + {comments: $comments}]) as $files
| ([$files[].messageType[] | .name as $outer | .nestedType[]? | select(.options.mapEntry)
    | {key: ".headgate.v1.\($outer).\(.name)", value: true}] | from_entries) as $maps
| {openapi: "3.1.0",
   info: {title: "Headgate", version: $version, description:
     "Asks whether work on PostgreSQL may be done now. docs/http.md says what is the same for all methods."},
   servers: [{url: "http://localhost:8080"}],
   security: [{}, {token: []}],
   paths: (
     ([$files[] | .comments as $comments | .service // [] | to_entries[] | .key as $s | .value
       | .name as $service | .method | to_entries[]
       | select(.value | (.clientStreaming or .serverStreaming) | not)
       | {key: (.value.name | path),
          value: {post: (.key as $m | .value | operation($service; $comments["6,\($s),2,\($m)"]))}}] | from_entries)
     + {"/v1/batch_read": {post: batch_read}}
     + {"/check/{app}/{store_type}/{store}": {
          get: (freno({content: content(ref("FrenoAnswer"))}) + {operationId: "FrenoCheck", summary: "What freno answers."}),
          head: (freno({}) + {operationId: "FrenoCheckStatus", summary: "The same, without a body."})}}),
   components: {
     securitySchemes: {token: {type: "http", scheme: "bearer"}},
     schemas: (
       ([$files[] | .comments as $comments | .enumType // [] | to_entries[]
         | .key as $e | .value | {key: .name, value: ({type: "string", enum: [.value[].name]}
              | described($comments["5,\($e)"] // ""))}] | from_entries)
       + ([$files[] | .comments as $comments | .messageType | to_entries[] | .key as $m | .value | .name as $outer
         | .enumType // [] | to_entries[]
         | .key as $e | .value | {key: "\($outer).\(.name)", value: ({type: "string", enum: [.value[].name]}
              | described($comments["4,\($m),4,\($e)"] // ""))}] | from_entries)
       + ([$files[] | .comments as $comments | .messageType | to_entries[] | "4,\(.key)" as $path | .value
           | ([.field // [] | to_entries[] | {name: .value.name, field: .value,
                comment: ($comments["\($path),2,\(.key)"] // "")}]) as $fields
           | ([$fields[] | select(.comment | test("(^| )Required\\.( |$)")).name]) as $required
           | {key: .name, value: ({type: "object"}
               + (if $fields == [] then {} else {properties: ([$fields[]
                   | {key: .name, value: (.comment as $about | .field | property($maps) | described($about))}]
                   | from_entries)} end)
               + (if $required == [] then {} else {$required} end)
               | described($comments[$path] // ""))}] | from_entries)
       + {BatchReadRequest: {type: "object", required: ["calls"],
            properties: {calls: {type: "array", minItems: 1, maxItems: 8, items: {type: "object", minProperties: 1,
              maxProperties: 1, additionalProperties: {type: "object"},
              description: "The name of a method, as in its path, and its request."}}}},
          BatchReadResponse: {type: "object",
            properties: {answers: {type: "array", items: {type: "object", required: ["status", "body"],
              properties: {status: {type: "integer", description: "As the method alone would be answered."},
                body: {type: "object", description: "Likewise."},
                retry_after: {type: "integer", description: "Whole seconds; absent: it does not say."},
                request_id: {type: "string", description: "Of a call that failed."}}}}}},
          Status: {type: "object", description: "A google.rpc.Status.",
            properties: {code: {type: "integer", description: "A google.rpc.Code."}, message: {type: "string"},
              details: {type: "array", items: {type: "object", required: ["@type"],
                properties: {"@type": {type: "string"}}, additionalProperties: true}}}},
          FrenoAnswer: {type: "object", description: "As freno has it.",
            properties: {StatusCode: {type: "integer"}, Value: {type: "number", description:
              "The pressure of the worst health signal."}, Threshold: {type: "number"},
              Message: {type: "string"}}}})}}
'

generated() {
  local version
  version=$(sed -n 's/^project(headgate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  (cd proto && "$(tool_path buf)" build . --output -#format=json) |
    jq --indent 1 --arg version "$version" "$DOCUMENT"
}

check() {
  local new
  new=$(generated) || return
  diff "$FILE" - <<<"$new" >/dev/null ||
    { echo "$FILE is not what the protos say: tools/openapi.sh write" && return 1; }
}

write() {
  local new
  new=$(generated)
  cat <<<"$new" >"$FILE"
}

require_tool buf
case ${1:-} in
  write | check) "$1" ;;
  *) echo "usage: tools/openapi.sh write | check [FILE]" >&2 && exit 2 ;;
esac
