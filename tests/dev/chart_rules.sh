#!/usr/bin/env bash
# tools/chart.sh catches each kind of mistake in a chart, by planting it in a copy.
# Watches: helm/ tools/chart* proto/headgate/v1/config.proto
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/chart.sh
source tools/chart.sh

skip_without require_chart_tools

ORIGINAL=$CHART
CHART_WORK=$(mktemp --directory)
trap end_chart EXIT
CHART=$CHART_WORK/headgate
CAUGHT=0

fail() {
  echo "$*"
  exit 1
}

# caught TEXT VALUES TEMPLATE SED: with this change of a template, the check says the text.
caught() {
  local output=$CHART_WORK/output
  rm -rf "$CHART"
  cp -r "$ORIGINAL" "$CHART"
  sed --in-place --regexp-extended "$4" "$CHART/templates/$3"
  if cmp --silent "$CHART/templates/$3" "$ORIGINAL/templates/$3"; then
    fail "nothing is planted in $3 by $4"
  fi
  check_rendering "$ORIGINAL/ci/$2.yaml" >"$output" || true
  grep --quiet --fixed-strings -e "$1" "$output" || fail "no '$1' for $4 in $3: $(<"$output")"
  CAUGHT=$((CAUGHT + 1))
}

# dashboard FILTER TEXT: with this change of the dashboard, the check says the text.
dashboard() {
  local output=$CHART_WORK/output
  rm -rf "$CHART"
  cp -r "$ORIGINAL" "$CHART"
  jq "$1" "$ORIGINAL/dashboards/headgate.json" >"$CHART/dashboards/headgate.json"
  check_dashboard >"$output"
  grep --quiet --fixed-strings -e "$2" "$output" || fail "no '$2' for $1: $(<"$output")"
  CAUGHT=$((CAUGHT + 1))
}

units() {
  local overrides='(.panels[] | select(.title == "%s").fieldConfig.overrides) = []' title
  for title in Snapshot "PostgreSQL polls" "HTTP and log" Rows Identities; do
    # shellcheck disable=SC2059
    dashboard "$(printf "$overrides" "$title")" "$title ("
  done
}

confinement() {
  local container='StatefulSet demo-headgate, headgated'
  caught "$container" minimal _helpers.tpl 's/^readOnlyRootFilesystem: true/readOnlyRootFilesystem: false/'
  caught "Pod demo-headgate-test, status" minimal _helpers.tpl 's/drop: \[ALL\]/drop: [NET_RAW]/'
  caught "$container" minimal _helpers.tpl 's/^(allowPrivilegeEscalation): false/\1: true/'
  caught "gets a token" minimal statefulset.yaml 's/(automountServiceAccountToken): false/\1: true/'
  caught "gone before helm test --logs reads it" minimal tests/status.yaml \
    's/before-hook-creation$/&,hook-succeeded/'
  caught "takes what it likes of the disk of the node" no-persistence _pod.tpl \
    's/^  emptyDir:$/  emptyDir: {}/; /^    sizeLimit: /d'
  # shellcheck disable=SC2016
  caught "does not request what it takes of the disk of the node" no-persistence _pod.tpl \
    '/set \$requests "ephemeral-storage"/d'
  caught "is in a namespace of the node" minimal statefulset.yaml \
    's/^      enableServiceLinks: false/      hostNetwork: true/'
}

reload() {
  caught "subPath never follows a change" minimal _pod.tpl \
    's#^(  mountPath: /etc/headgate/config)#\1/headgate.yaml\n  subPath: headgate.yaml#'
  caught "a checksum would restart the pod" full statefulset.yaml \
    's/^      annotations:/&\n        checksum\/config: "1"/'
}

references() {
  caught "a port that the server does not have" minimal service.yaml 's/targetPort: grpc/targetPort: rpc/'
  caught "does not select exactly the server" minimal tests/_status.tpl 's/(" \. \}\})-test/\1/'
  caught "probes that TLS would refuse" tls _pod.tpl 's/^  port: 8082$/  port: 8081/'
  caught "callers keep out, or a store that is away" minimal _pod.tpl 's#^  path: /healthz#  path: /readyz#'
  caught "or a store that is away" tls _pod.tpl '/^  service: liveness$/d'
  caught "a port that the server does not have" minimal _pod.tpl 's/^  port: http$/  port: web/'
  # shellcheck disable=SC2016
  caught "metrics in plaintext leave the cluster" load-balancer service.yaml \
    's/\{\{- if \$isInside \}\}/{{- if true }}/'
  caught "does not select exactly the Service with its port" load-balancer servicemonitor.yaml \
    '/headgate.httpLabels/d'
  caught "mounts without a volume" existing-secret _pod.tpl '0,/^- name: dsn$/s//- name: dns/'
}

replacement() {
  local what="pods are replaced in another way than the values say"
  caught "$what" three-servers-csi statefulset.yaml 's/minReadySeconds: .*/minReadySeconds: 0/'
  # shellcheck disable=SC2016
  caught "$what" three-servers-csi statefulset.yaml \
    's/\{\{- toYaml .Values.updateStrategy.*/type: RollingUpdate/'
  caught "$what" three-servers-csi poddisruptionbudget.yaml 's/maxUnavailable: .*/maxUnavailable: 1/'
}

schemas() {
  caught "livenesProbe" minimal _pod.tpl 's/livenessProbe:/livenesProbe:/'
  caught "intervall" monitoring servicemonitor.yaml 's/ interval: / intervall: /'
  caught "already set in map" minimal service.yaml 's/^(  type: .*)/\1\n\1/'
  # shellcheck disable=SC2016
  caught "alerts or dashboard are not those" monitoring dashboard.yaml 's/\$dashboard \| trim/"{}" | trim/'
}

# planted FILE SED TEXT CHECK...: with this change of a file of the chart, the check says the text.
planted() {
  local output=$CHART_WORK/output file=$1 sed=$2 text=$3
  shift 3
  rm -rf "$CHART"
  cp -r "$ORIGINAL" "$CHART"
  sed --in-place --regexp-extended "$sed" "$CHART/$file"
  if cmp --silent "$CHART/$file" "$ORIGINAL/$file"; then fail "nothing is planted in $file by $sed"; fi
  "$@" >"$output" || true
  grep --quiet --fixed-strings -e "$text" "$output" || fail "no '$text' for $sed in $file: $(<"$output")"
  CAUGHT=$((CAUGHT + 1))
}

# shellcheck disable=SC2016
openness() {
  planted templates/_refusals.tpl '/include "headgate.refuseOpen"/d' "the chart takes --set insecure=false" \
    refuses_to_be_open
  planted values.yaml 's/^insecure: false/insecure: true/' "does not have the values" check_table
  caught "everybody may read the metrics" minimal networkpolicy.yaml \
    's/"kubernetes.io\/metadata.name" \.monitoringNamespace/"name" "monitoring"/'
  caught "everybody may read the metrics" minimal networkpolicy.yaml \
    's/\(dict "namespaceSelector" \$monitoring\)/(dict "namespaceSelector" dict)/'
}

# shellcheck disable=SC2016
services() {
  caught "the StatefulSet has no headless Service" minimal headless.yaml '/clusterIP: None/d'
  caught "the StatefulSet has no headless Service" minimal statefulset.yaml \
    's/(serviceName: .*)headgate.headless/\1headgate.fullname/'
  caught "does not select exactly the Service with its port" monitoring headless.yaml \
    's/^    .*headgate.labels.*/&\n    app.kubernetes.io\/component: http/'
  caught "not the one that is mounted" cert-manager certificate.yaml 's/(secretName: ).*/\1other/'
  caught "issuerReff" cert-manager certificate.yaml 's/issuerRef:/issuerReff:/'
}

# shellcheck disable=SC2016
several_servers() {
  local tables="nobody looks at the tables of the store before servers meet them"
  local pdb=poddisruptionbudget.yaml certificate="a certificate that servers do not accept"
  caught "of several one at a time may go" three-servers "$pdb" 's/maxUnavailable: .*/maxUnavailable: 2/'
  caught "of several one at a time may go" three-servers "$pdb" 's/maxUnavailable: .*/maxUnavailable: 0/'
  caught "of several one at a time may go" minimal "$pdb" 's/\) 1\) \}\}/) 0) }}/'
  caught "$tables" three-servers store-tables.yaml 's/pre-install,//'
  caught "$tables" three-servers store-tables.yaml 's/hook-weight: "1"/hook-weight: "-2"/'
  caught "$tables" three-servers-csi store-tables.yaml 's/"check"/"upgrade"/'
  caught "several servers without a store" three-servers _pod.tpl '/headgate.member" \./d'
  caught "servers that are not spread" three-servers statefulset.yaml \
    '/^          labelSelector:/,+2d'
  caught "are not those of their pods" three-servers _pod.tpl 's/headgate.headlessHost/headgate.host/'
  caught "are not those of their pods" three-servers headless.yaml 's/port: 8081/port: 9081/'
  caught "is not found any more" three-servers headless.yaml '/publishNotReadyAddresses/d'
  caught "do not reach each other, or the store" three-servers networkpolicy.yaml \
    '0,/^        - podSelector: &servers/s//        - namespaceSelector: \&servers/'
  caught "do not reach each other, or the store" three-servers networkpolicy.yaml \
    's/podSelector: \*servers/namespaceSelector: {}/'
  caught "$certificate" three-servers certificate.yaml '/- "\*\./d'
  caught "$certificate" three-servers certificate.yaml 's/, client auth//'
}

checks_of_configuration() {
  local text="the configuration is not checked before the old pod goes"
  caught "$text: the hook" minimal _check.tpl 's/pre-upgrade,//'
  caught "$text: the hook" minimal config-check.yaml 's/"-1"/"1"/'
  caught "$text: the init container" minimal _check.tpl 's/--check-config=/--config=/'
  caught "$text: two configurations" minimal config-check.yaml \
    's/^    .*include "headgate.config".*/    budgets: []/'
  caught "$text: the init container" mtls-access statefulset.yaml \
    '0,/include "headgate.volumeMounts"/s//include "headgate.testMounts"/'
}

# shellcheck disable=SC2016
metadata() {
  planted icon.svg 's/#f2a541/#ffffff/' "does not have icon.svg" check_metadata
  planted Chart.yaml 's/^  - name: Headgate/  - name: Somebody/' "another maintainer" check_metadata
  planted Chart.yaml 's/^version: .*/version: 9.9.9/' "another version or appVersion" check_version
  planted README.md '/^\| `extraObjects`/d' "does not have the values" check_table
}

# What the image is made on is these very bytes.
base() {
  sed -E 's/^(ARG BASE=[^@]*)@.*/\1/' Dockerfile >"$CHART_WORK/Dockerfile"
  check_base "$CHART_WORK/Dockerfile" >"$CHART_WORK/output"
  grep --quiet "does not name its base by digest" "$CHART_WORK/output" || fail "nobody misses the digest of the base"
  CAUGHT=$((CAUGHT + 1))
}

# The schema of `config` is what the proto says, and no stricter or laxer than the server.
configuration() {
  local CHART_BIN=$HEADGATE_BIN protos=$CHART_WORK/protos schema=$CHART_WORK/new.schema.json
  planted values.schema.json '/^        "max_permits":/d' "tools/chart_schema.sh write" chart_schema_is_made
  planted values.schema.json 's/"minimum":64,"maximum":16777216/"minimum":65,"maximum":16777216/' \
    "the schema refuses what the server takes" check_planted max_permits
  planted values.schema.json '/"capacity":/s/"minimum":0,//' "the schema has none of: capacity" check_ranges
  planted values.schema.json '/"config.OnStale":/s/"minimum":0/"minimum":2/' \
    "the server says nothing of on_stale" check_planted speed
  planted values.schema.json 's/"(WARN|DISABLED)",?//g; s/,\]/]/' "the schema refuses what the server takes" check_taken
  # A field that the proto gets comes by itself.
  cp -r proto "$protos"
  sed --in-place -e 's/^message Budget {/&\n  \/\/ Flaps a second. 1 to 9.\n  optional int32 wings = 99;/' \
    -e 's/^message Budget {/&\n  \/\/ Metres. Above 0, up to 2.5; default 1.\n  optional double span = 98;/' \
    "$protos/headgate/v1/config.proto"
  cp "$ORIGINAL/values.schema.json" "$schema"
  if tools/chart_schema.sh check "$schema" "$protos" >"$CHART_WORK/output"; then fail "a new field is not missed"; fi
  tools/chart_schema.sh write "$schema" "$protos"
  [[ $(jq --compact-output '.definitions["config.Budget"].properties.wings | {type, minimum, maximum}' "$schema") == \
    '{"type":"integer","minimum":1,"maximum":9}' ]] || fail "a new field does not get into the schema"
  [[ $(jq --compact-output '.definitions["config.Budget"].properties.span | {type, exclusiveMinimum, maximum}' \
    "$schema") == '{"type":"number","exclusiveMinimum":0,"maximum":2.5}' ]] ||
    fail "a range that leaves its end out does not get into the schema"
  CAUGHT=$((CAUGHT + 1))
}

chart_schema_is_made() { tools/chart_schema.sh check "$CHART/values.schema.json"; }

# What only helm or the server notices: values of docs/kubernetes.md that the server refuses.
documentation() {
  local text='signal .replication_lag_seconds. is measured on no target'
  local CHART_DOCS=$CHART_WORK/kubernetes.md CHART_BIN=$HEADGATE_BIN CHART=$ORIGINAL
  make_credentials
  sed -e '/^      standbys:$/d' -e '/^        - name: orders-2 /d' docs/kubernetes.md >"$CHART_DOCS"
  check_docs >"$CHART_WORK/output"
  grep --quiet -e "$text" "$CHART_WORK/output" ||
    fail "nobody notices wrong values in the documentation: $(<"$CHART_WORK/output")"
  CAUGHT=$((CAUGHT + 1))
}

# example FILE SED TEXT [OTHER FILE]: with this change of an example, the check of it, and the other, says the text.
example() {
  local output=$CHART_WORK/output CHART_EXAMPLES=$CHART_WORK/examples
  rm -rf "$CHART_EXAMPLES" "$CHART_WORK"/*.pod.json
  mkdir "$CHART_EXAMPLES"
  cp "helm/examples/agent/$1" ${4:+"helm/examples/agent/$4"} "$CHART_EXAMPLES"
  sed --in-place --regexp-extended "$2" "$CHART_EXAMPLES/$1"
  if cmp --silent "$CHART_EXAMPLES/$1" "helm/examples/agent/$1"; then fail "nothing is planted in $1 by $2"; fi
  check_examples >"$output" 2>&1 || true
  grep --quiet --fixed-strings -e "$3" "$output" || fail "no '$3' for $2 in $1: $(<"$output")"
  CAUGHT=$((CAUGHT + 1))
}

examples() {
  example statefulset.yaml 's/^( *)shareProcessNamespace:/\1shareProcesNamespace:/' "shareProcesNamespace"
  example statefulset.yaml '/shareProcessNamespace:/d' "would not see PostgreSQL's processes"
  example cloudnativepg.yaml '/shareProcessNamespace", "value"/d' "would not see PostgreSQL's processes"
  example zalando.yaml '/shareProcessNamespace", value/d' "would not see PostgreSQL's processes"
  example statefulset.yaml 's/\[SYS_NICE\]/[CAP_SYS_NICE]/' "not the rights that the agent takes"
  example cloudnativepg.yaml 's/"runAsUser": 0/"runAsUser": 65532/' "not the rights that the agent takes"
  example zalando.yaml 's/add: \["SYS_NICE"\]/add: ["SYS_NICE", "SYS_PTRACE"]/' "not the rights that the agent takes"
  example zalando.yaml '/seccompProfile: Object/d' "not the rights that the agent takes"
  example statefulset.yaml '0,/drop: \[ALL\]/s//add: [SYS_NICE]/' "others than the agent are given rights"
  example statefulset.yaml 's/limits: \{memory: 4Gi\}/limits: {cpu: "2", memory: 4Gi}/' "would use up a limit of the processor"
  example cloudnativepg.yaml 's/, "sizeLimit": "8Mi"//' "is the agent's --state-dir"
  example cloudnativepg.yaml 's#"mountPath": "/run/headgate-agent"#"mountPath": "/run/agent"#' "is the agent's --state-dir"
  example zalando.yaml 's/host=127.0.0.1/host=orders-db/' "not asked over the loopback address"
  example cloudnativepg.yaml 's#/spec/containers/-#/spec/containers/1#' "no pod comes out of it"
  example statefulset.yaml 's/enforce: privileged/enforce: baseline/' "the namespace takes no CAP_SYS_NICE"
  example zalando.yaml 's/policyName: .*/policyName: other/' "a policy that nothing binds"
  example zalando.yaml 's/cluster-name: orders-db/cluster-name: other-db/' "acts on other pods"
  example zalando.yaml 's/^    headgate-agent: \[\]/    headgate: []/' "the agent has no password"
  example statefulset.yaml 's/^  headgate-agent: change-me-too/  agent: change-me-too/' "the agent has no password"
  example cloudnativepg.yaml 's/inRoles:/inRole:/' "inRole"
  example zalando.yaml 's/cpu: "16", //' "the operator would set a limit"
  example zalando.yaml 's/numberOfInstances:/numberOfInstance:/' "numberOfInstance"
  example zalando.yaml 's/patchType: JSONPatch/patchtype: JSONPatch/' "patchtype"
  example zalando.yaml 's/patchType: JSONPatch/patchType: ApplyConfiguration/' "would not carry out once"
  example zalando.yaml '/has-no-agent/,+1d; s/matchConditions:/matchConditions: []/' "would not carry out once"
  example zalando.yaml 's/application_name=backfill/application_name=nightly/' "different agents" statefulset.yaml
}

confinement
examples
reload
references
replacement
schemas
documentation
units
openness
services
several_servers
checks_of_configuration
metadata
base
configuration
echo "$CAUGHT planted mistakes caught"
