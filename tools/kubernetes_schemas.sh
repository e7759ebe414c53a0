#!/usr/bin/env bash
# JSON schemas of Kubernetes' objects, for kubeconform, without a cluster and without a network.
#
#   tools/kubernetes_schemas.sh FOLDER KUBERNETES KUBERNETES_WITH_POLICIES PROMETHEUS_OPERATOR CERT_MANAGER CLOUDNATIVE_PG ZALANDO
#
# They are made of what the projects publish in their Go modules, of these versions: the OpenAPI documents of Kubernetes'
# API server, and the CRDs of operators. Where properties are listed, no
# others are allowed: a misspelt field is what a chart gets wrong, and the API server would drop it.
# shellcheck disable=SC2016  # jq's variables, not the shell's
set -euo pipefail

FOLDER=$1 KUBERNETES=$2 KUBERNETES_WITH_POLICIES=$3 OPERATOR=$4 CERT_MANAGER=$5 CLOUDNATIVE_PG=$6 ZALANDO=$7

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

# Every object has these, whether its CRD says so or not.
CRD='
.spec as $spec | $spec.versions[]
| [([$spec.names.kind, ($spec.group | split(".")[0]), .name] | join("-") | ascii_downcase),
   (.schema.openAPIV3Schema | strict | .properties |= {apiVersion: {}, kind: {}, metadata: {}} + . | tojson)]
| @tsv
'

# Reads lines of a file name and a schema.
write_schemas() {
  local name schema
  while IFS=$'\t' read -r name schema; do
    printf '%b' "$schema" >"$FOLDER/$name.json"
  done
}

# kinds_of MODULE@VERSION API...: those of Kubernetes' APIs.
kinds_of() {
  local folder api
  folder=$(module_folder "$1") || return
  for api in "${@:2}"; do
    jq --raw-output "$STRICT $KINDS" "$folder/api/openapi-spec/v3/${api}_openapi.json"
  done
}

# crds_of MODULE@VERSION FILE...: JSON is YAML.
crds_of() {
  local folder file
  folder=$(module_folder "$1") || return
  for file in "${@:2}"; do yq --raw-output "$STRICT $CRD" "$folder/$file"; done
}

mkdir -p "$FOLDER"
{
  kinds_of "k8s.io/kubernetes@$KUBERNETES" \
    api__v1 apis__apps__v1 apis__batch__v1 apis__networking.k8s.io__v1 apis__policy__v1
  kinds_of "k8s.io/kubernetes@$KUBERNETES_WITH_POLICIES" apis__admissionregistration.k8s.io__v1
  crds_of "github.com/prometheus-operator/prometheus-operator@$OPERATOR" \
    jsonnet/prometheus-operator/{servicemonitors,prometheusrules}-crd.json
  crds_of "github.com/cert-manager/cert-manager@$CERT_MANAGER" deploy/crds/cert-manager.io_certificates.yaml
  crds_of "github.com/cloudnative-pg/cloudnative-pg@$CLOUDNATIVE_PG" config/crd/bases/postgresql.cnpg.io_clusters.yaml
  crds_of "github.com/zalando/postgres-operator@$ZALANDO" manifests/postgresql.crd.yaml
} | write_schemas
