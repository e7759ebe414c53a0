#!/usr/bin/env bash
# JSON schemas of Kubernetes' objects, for kubeconform, without a cluster and without a network.
#
#   tools/kubernetes_schemas.sh KUBERNETES_VERSION OPERATOR_VERSION CERT_MANAGER_VERSION FOLDER
#
# They are made of what the projects publish in their Go modules: the OpenAPI documents of Kubernetes'
# API server, and the CRDs of the Prometheus operator and of cert-manager. Where properties are listed, no
# others are allowed: a misspelt field is what a chart gets wrong, and the API server would drop it.
# shellcheck disable=SC2016  # jq's variables, not the shell's
set -euo pipefail

KUBERNETES=$1 OPERATOR=$2 CERT_MANAGER=$3 FOLDER=$4

module_folder() { # module_folder MODULE@VERSION
  local answer
  answer=$(GOFLAGS=-modcacherw go mod download -json "$1") || { echo "$answer" >&2 && return 1; }
  jq --raw-output .Dir <<<"$answer"
}

# Descriptions, most of the size, are left out.
STRICT='
def strict: walk(
  if type != "object" then .
  else
    if (.description | type) == "string" then del(.description) else . end
    | if (.properties | type) == "object"
        and (has("additionalProperties") or .["x-kubernetes-preserve-unknown-fields"] == true | not)
      then .additionalProperties = false else . end
  end);
'

# One line for each kind: its file, and its schema with all that it refers to.
KINDS='
.components.schemas as $schemas
| ({components: {$schemas}} | strict) as $all
| $schemas | to_entries[] | .key as $key
| .value["x-kubernetes-group-version-kind"] // [] | select(length == 1)[]
| [([.kind, (.group | split(".")[0] // empty), .version] | join("-") | ascii_downcase),
   ($all + {"$ref": "#/components/schemas/\($key)"} | tojson)]
| @tsv
'

CRD='
.spec as $spec | $spec.versions[]
| [([$spec.names.kind, ($spec.group | split(".")[0]), .name] | join("-") | ascii_downcase),
   (.schema.openAPIV3Schema | strict | tojson)]
| @tsv
'

# Reads lines of a file name and a schema.
write_schemas() {
  local name schema
  while IFS=$'\t' read -r name schema; do
    printf '%b' "$schema" >"$FOLDER/$name.json"
  done
}

mkdir -p "$FOLDER"
kubernetes=$(module_folder "k8s.io/kubernetes@$KUBERNETES")
for api in api__v1 apis__apps__v1 apis__batch__v1 apis__networking.k8s.io__v1 apis__policy__v1; do
  jq --raw-output "$STRICT $KINDS" "$kubernetes/api/openapi-spec/v3/${api}_openapi.json"
done | write_schemas
operator=$(module_folder "github.com/prometheus-operator/prometheus-operator@$OPERATOR")
for crd in servicemonitors prometheusrules; do
  jq --raw-output "$STRICT $CRD" "$operator/jsonnet/prometheus-operator/$crd-crd.json"
done | write_schemas
cert_manager=$(module_folder "github.com/cert-manager/cert-manager@$CERT_MANAGER")
yq --raw-output "$STRICT $CRD" "$cert_manager/deploy/crds/cert-manager.io_certificates.yaml" | write_schemas
