# What ./dev chart checks of helm/headgate: with the real helm, against the real schemas of
# Kubernetes, and with the real headgated.
# shellcheck shell=bash disable=SC2016

# shellcheck source=tools/chart_docs.sh
source tools/chart_docs.sh
# shellcheck source=tools/chart_config.sh
source tools/chart_config.sh
# shellcheck source=tools/chart_examples.sh
source tools/chart_examples.sh
# shellcheck source=tools/chart_metadata.sh
source tools/chart_metadata.sh
# shellcheck source=tools/chart_refusals.sh
source tools/chart_refusals.sh
# shellcheck source=tools/chart_servers.sh
source tools/chart_servers.sh
# shellcheck source=tools/chart_serving.sh
source tools/chart_serving.sh

CHART=helm/headgate
CHART_BAD=0      # What was found wrong.
CHART_OBJECTS=0  # Objects that were held against their schema.
CHART_REFUSED=0
CHART_ASKED=0
CHART_DOCS_TRIED=0  # Values of the documentation.

wrong() {
  CHART_BAD=$((CHART_BAD + 1))
  echo "WRONG: $*"
}

# Status 77: a tool cannot be had here; the reason is printed.
require_chart_tools() {
  local tool
  require_packages "${CHART_PACKAGES[@]}" || return
  for tool in helm kubeconform schemas grpcurl buf; do require_tool "$tool" || return; done
  can_name_pods || { say "the names of pods take a namespace of mounts, which cannot be had here" && return 77; }
}

# Without a cluster, and without what the user has told helm.
chart_helm() {
  env KUBECONFIG=/dev/null HELM_CACHE_HOME="$CHART_WORK" HELM_CONFIG_HOME="$CHART_WORK" \
    HELM_DATA_HOME="$CHART_WORK" "$(tool_path helm)" "$@"
}

# chart_render FOLDER [ARGUMENT...]: the manifests of a release `demo` in the namespace `prod`.
chart_render() { chart_helm template demo "$1" --namespace prod "${@:2}"; }

# The pod of each object that has one, with the object's name.
CHART_PODS='.[] | select(.kind == "StatefulSet" or .kind == "Pod" or .kind == "Job")
  | {name: "\(.kind) \(.metadata.name)", kind,
     pod: (if .kind == "Pod" then .spec else .spec.template.spec end)}'

# none NAME JSON WHAT FILTER: the filter prints what is wrong; it has to print nothing.
none() {
  local found
  found=$(jq --raw-output "$4" "$2") || found="the objects cannot be read"
  [[ -z $found ]] || wrong "$1: $3: $(paste --serial --delimiters=, <<<"$found")"
}

check_objects() { # check_objects NAME YAML: each object is what its schema says.
  local summary
  if ! summary=$("$(tool_path kubeconform)" -strict -summary -output text \
    -schema-location "$TOOLS/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$2" 2>&1); then
    wrong "$1: $summary"
  fi
  if [[ $summary =~ Valid:\ ([0-9]+) ]]; then CHART_OBJECTS=$((CHART_OBJECTS + BASH_REMATCH[1])); fi
}

check_pods() { # check_pods NAME JSON
  none "$1" "$2" "not confined" "$CHART_PODS"' | .name as $name | .pod
    | (select(.automountServiceAccountToken != false) | "\($name): gets a token"),
      (select(.hostNetwork or .hostPID or .hostIPC) | "\($name): is in a namespace of the node"),
      (select(.securityContext | .runAsNonRoot != true or .seccompProfile.type != "RuntimeDefault")
        | "\($name): the pod may be root, or is without seccomp"),
      (.volumes[]? | select(.hostPath) | "\($name): mounts a folder of the node"),
      (.volumes[]? | select(.emptyDir and .emptyDir.sizeLimit == null)
        | "\($name): \(.name) takes what it likes of the disk of the node"),
      (select(any(.volumes[]?; .emptyDir)
          and all(.containers[].resources; .requests["ephemeral-storage"] == null))
        | "\($name): does not request what it takes of the disk of the node"),
      (.containers[], .initContainers[]? | "\($name), \(.name)" as $at | .securityContext
        | select(.readOnlyRootFilesystem != true or .allowPrivilegeEscalation != false
            or .runAsNonRoot != true or .capabilities != {drop: ["ALL"]} or .privileged
            or .seccompProfile.type != "RuntimeDefault")
        | "\($at): \(tojson)")'
  none "$1" "$2" "mounts without a volume, or volumes without a mount" "$CHART_PODS"' | .name as $name
    | ([.pod | .containers[], .initContainers[]? | .volumeMounts[]?.name] | unique) as $mounts
    | ([.pod.volumes[]?.name] | unique) as $volumes
    | ($mounts - $volumes) + ($volumes - $mounts) | .[] | "\($name): \(.)"'
  none "$1" "$2" "gone before helm test --logs reads it" '
    .[] | select(.metadata.annotations | .["helm.sh/hook"] == "test"
      and (.["helm.sh/hook-delete-policy"] | test("hook-succeeded")))
    | .metadata.name'
  none "$1" "$2" "the server has less time to stop than it may take" \
    "$CHART_PODS"' | select(.kind == "StatefulSet" and .pod.terminationGracePeriodSeconds < 15) | .name'
}

# A ConfigMap or Secret that changes reaches the server without a restart.
check_reload() { # check_reload NAME JSON
  none "$1" "$2" "subPath never follows a change" "$CHART_PODS"' | .name as $name
    | .pod | .containers[], .initContainers[]? | .volumeMounts[]? | select(.subPath or .subPathExpr)
    | "\($name): \(.name)"'
  none "$1" "$2" "a checksum would restart the pod" \
    '.[] | .spec.template.metadata.annotations? // {} | keys[] | select(test("checksum"))'
}

# What refers to something finds it.
check_references() { # check_references NAME JSON
  none "$1" "$2" "the Service does not select exactly the server" '
    (.[] | select(.kind == "Service").spec.selector) as $selector
    | .[] | select(.kind == "StatefulSet" or .kind == "Pod" or .kind == "Job")
    | (.spec.template.metadata.labels // .metadata.labels) as $labels
    | (($selector | to_entries | all($labels[.key] == .value)) == (.kind == "StatefulSet")) as $right
    | select($right | not) | .metadata.name'
  none "$1" "$2" "the StatefulSet has no headless Service" '
    [.[] | select(.kind == "Service" and .spec.clusterIP == "None").metadata.name] as $headless
    | .[] | select(.kind == "StatefulSet").spec.serviceName | select(. as $name | $headless != [$name])'
  none "$1" "$2" "a port that the server does not have" '
    (.[] | select(.kind == "StatefulSet").spec.template.spec.containers[0]) as $server
    | [$server.ports[] | .name, .containerPort] as $ports
    | (.[] | select(.kind == "Service").spec.ports[].targetPort),
      ($server | .startupProbe, .livenessProbe, .readinessProbe | .grpc.port // .httpGet.port),
      (.[] | select(.kind == "NetworkPolicy").spec.ingress[].ports[].port)
    | select(. as $port | $ports | index($port) | not)'
  none "$1" "$2" "probes that TLS would refuse, callers keep out, or a store that is away" '
    .[] | select(.kind == "StatefulSet").spec.template.spec.containers[0]
    | (if .args | any(startswith("--health-address=")) then {grpc: {port: 8082, service: "liveness"}}
       else {httpGet: {path: "/healthz", port: "http"}} end) as $right
    | .livenessProbe, .startupProbe | select({grpc, httpGet} | with_entries(select(.value)) != $right)
    | tojson'
  none "$1" "$2" "metrics in plaintext leave the cluster" '
    .[] | select(.kind == "Service" and .spec.type != "ClusterIP")
    | select(any(.spec.ports[]; .name == "http")).metadata.name'
  none "$1" "$2" "everybody may read the metrics, or nobody of the monitoring namespace" '
    .[] | select(.kind == "NetworkPolicy").spec.ingress
    | [.[] | select(any(.ports[]; .port == "http"))] as $http
    | select(($http | length) != 1
        or any($http[].from[]; (.namespaceSelector | .matchLabels // .matchExpressions // {}) == {})
        or all($http[].from[]; .namespaceSelector.matchLabels["kubernetes.io/metadata.name"] == null)) | tojson'
  none "$1" "$2" "the Secret of the certificate is not the one that is mounted" '
    (.[] | select(.kind == "Certificate").spec.secretName) as $made
    | [.[] | select(.kind == "StatefulSet").spec.template.spec.volumes[] | select(.name == "tls").secret.secretName]
    | select(. != [$made]) | tojson'
  none "$1" "$2" "the ServiceMonitor does not select exactly the Service with its port" '
    map(select(.kind == "Service")) as $services
    | .[] | select(.kind == "ServiceMonitor").spec as $monitor
    | [$services[] | .metadata.labels as $labels
        | select($monitor.selector.matchLabels | to_entries | all($labels[.key] == .value))] as $found
    | select(($found | length) != 1
        or all($found[].spec.ports[].name; . != $monitor.endpoints[0].port)) | .metadata.name'
}

# How pods are replaced, and how many may be gone at once, is what the values say.
check_replacement() { # check_replacement NAME JSON FILE
  local wanted
  wanted=$(yq --compact-output --slurp '.[0] * (.[1] // {})
    | {StatefulSet: {updateStrategy, minReadySeconds},
       PodDisruptionBudget: .podDisruptionBudget | {maxUnavailable, unhealthyPodEvictionPolicy}}' "$CHART/values.yaml" "$3")
  none "$1" "$2" "pods are replaced in another way than the values say" '
    '"$wanted"' as $wanted | .[] | $wanted[.kind] as $of | select($of)
    | .spec | with_entries(select(.key as $key | $of | has($key))) | select(. != $of) | tojson'
}

# The configuration is checked before anything is changed, by what runs in the pod later, too.
check_hooks() { # check_hooks NAME JSON
  none "$1" "$2" "the configuration is not checked before the old pod goes" '
    def check: "--check-config=/etc/headgate/config/headgate.yaml";
    def hooks: .metadata.annotations["helm.sh/hook"] // "" | split(",");
    (map(select(.kind == "StatefulSet"))[0]) as $server
    | (map(select(.kind == "ConfigMap" and .data["headgate.yaml"]))) as $configs
    | $server.spec.template.spec as $pod
    | (if $pod.initContainers[0] | .command == ["/usr/bin/headgated"] and .args == $pod.containers[0].args + [check]
         and .image == $pod.containers[0].image and .volumeMounts == $pod.containers[0].volumeMounts
         and .env == $pod.containers[0].env and .envFrom == $pod.containers[0].envFrom
       then empty else "the init container is \($pod.initContainers[0] | tojson)" end),
      (if ([$configs[].data["headgate.yaml"]] | unique | length) != 1 then "two configurations" else empty end),
      (map(select(.kind == "Job" and (.metadata.name | endswith("-check"))))[] | . as $job | .spec.template.spec as $check
        | if (hooks | contains(["pre-install", "pre-upgrade", "pre-rollback"]))
            and $check.containers[0].args == $pod.containers[0].args + [check]
            and $check.containers[0].image == $pod.containers[0].image
            and any($configs[]; .metadata.name == $check.volumes[0].configMap.name
              and hooks == ($job | hooks) and (.metadata.annotations["helm.sh/hook-weight"] | tonumber)
                < ($job.metadata.annotations["helm.sh/hook-weight"] | tonumber))
          then empty else "the hook is \(tojson)" end)'
}

# Alerts and dashboard arrive as they are in the chart's files, but for what runbooks begin with.
check_monitoring() { # check_monitoring NAME JSON
  local rules=$CHART_WORK/rules
  yq . "$CHART/rules/headgate.yaml" >"$rules" || wrong "rules/headgate.yaml is no YAML"
  jq --exit-status --slurpfile rules "$rules" --slurpfile dashboard "$CHART/dashboards/headgate.json" '
    def relative: walk(if type == "object" and has("runbook_url")
      then .runbook_url |= sub("^https://git.example.com/platform/headgate/blob/main/"; "") else . end);
    all(.[] | select(.kind == "PrometheusRule").spec; relative == $rules[0])
    and all(.[] | .data["headgate.json"]? // empty; fromjson == $dashboard[0])' "$2" >/dev/null ||
    wrong "$1: alerts or dashboard are not those of the chart's files"
}

# Series of another kind than a panel's others have their own unit, and an axis for it: a rate, a share
# or a state beside bytes, seconds or a number. A panel's kinds are those of its queries.
check_dashboard() {
  none dashboard "$CHART/dashboards/headgate.json" "series without a unit of their own" '
    def kind: if test("_seconds[{ ]|time\\(\\)|_seconds_bucket") and (test("^rate\\(process_cpu") | not)
        then "seconds"
      elif test("_bytes[{ ]") then "bytes"
      elif test("_up[{]|_error[{]|_success[{]|_shut[{]|_state[{]") then "state"
      elif test("[)}] / headgate") then "share"
      elif test("rate\\(") then "rate" else "number" end;
    .panels[] | select(.type == "timeseries") | . as $panel
    | [.fieldConfig.overrides[].matcher.options] as $own
    | [.targets[] | select(.refId as $ref | $own | index($ref) | not).expr | kind] | unique
    | select(length > 1) | "\($panel.title) (\(join(" and ")))"'
}

# Another configuration changes the ConfigMap, and not the StatefulSet.
check_no_restart() {
  local kind before after
  for kind in configmap statefulset; do
    before=$(chart_render "$CHART" --set insecure=true --show-only "templates/$kind.yaml")
    after=$(chart_render "$CHART" --set insecure=true --show-only "templates/$kind.yaml" \
      --set 'config.budgets[0].name=new')
    case $kind in
      configmap) [[ $before != "$after" ]] || wrong "a new configuration is not in the ConfigMap" ;;
      *) [[ $before == "$after" ]] || wrong "a new configuration changes the $kind: the pod restarts" ;;
    esac
  done
}

# check_rendering FILE: what comes out with these values, without running it.
check_rendering() {
  local name yaml json
  name=$(basename "$1" .yaml) yaml=$CHART_WORK/$name.yaml json=$CHART_WORK/$name.json
  chart_helm lint --strict --quiet "$CHART" --values "$1" >"$CHART_WORK/lint" 2>&1 ||
    wrong "$name: $(<"$CHART_WORK/lint")"
  if ! chart_render "$CHART" --values "$1" >"$yaml" 2>"$CHART_WORK/error"; then
    wrong "$name: $(<"$CHART_WORK/error")"
    return 1
  fi
  yq --slurp 'map(select(. != null))' "$yaml" >"$json"
  check_objects "$name" "$yaml"
  check_pods "$name" "$json"
  check_reload "$name" "$json"
  check_references "$name" "$json"
  check_members "$name" "$json"
  check_hooks "$name" "$json"
  check_monitoring "$name" "$json"
  check_replacement "$name" "$json" "$1"
}

check_values_file() { # check_values_file FILE
  local name
  name=$(basename "$1" .yaml)
  if check_rendering "$1"; then check_serving "$name" "$1" "$CHART_WORK/$name.json"; fi
}

end_chart() {
  stop_serving || true
  end_store
  rm -rf "$CHART_WORK"
}

# check_chart BIN: BIN is the folder of headgated and headgate. The last line sums up.
check_chart() {
  local file files=0
  CHART_BIN=$1
  CHART_WORK=$(mktemp --directory)
  trap end_chart EXIT
  make_credentials
  for file in "$CHART"/ci/*.yaml; do
    check_values_file "$file"
    files=$((files + 1))
  done
  check_docs
  check_examples
  check_dashboard
  check_no_restart
  check_refusals
  check_config_schema
  check_table
  check_metadata
  check_version
  check_base Dockerfile
  if ((CHART_BAD)); then
    echo "chart: $CHART_BAD wrong"
    return 1
  fi
  echo "chart: $files files of values, $CHART_DOCS_TRIED of the documentation, $CHART_EXAMPLES_TRIED examples, $CHART_OBJECTS valid objects," \
    "$CHART_ASKED servers asked, $CHART_REFUSED wrong values and $CHART_PLANTED wrong configurations refused," \
    "$CHART_TAKEN of the server's taken"
}
