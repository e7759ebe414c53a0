# The examples of pods with headgate agent in them, helm/examples/agent: each object is what its schema says, and the pod
# that comes out is one in which the agent can work, with no more rights than that takes.
# shellcheck shell=bash disable=SC2016  # jq's variables, not the shell's

CHART_EXAMPLES=helm/examples/agent
CHART_EXAMPLES_TRIED=0

# What operators begin with, as far as an example adds to it. Zalando's sets none of the security.
OPERATORS_POD='{apiVersion: "v1", kind: "Pod", metadata: {name: "orders-db-1", namespace: "orders"},
  spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: "RuntimeDefault"}},
    containers: [{name: "postgres", image: "postgres", volumeMounts: [{name: "pgdata", mountPath: "/data"}]}],
    volumes: [{name: "pgdata", emptyDir: {}}]}}'

# A JSON patch that adds, as RFC 6902 has it: to a list that is there, or to a map that is.
JSON_PATCH='
def patched($patch): reduce $patch[] as $one (.;
  ($one.path | split("/")[1:]) as $path
  | if $one.op != "add" or (getpath($path[:-1]) | type) != (if $path[-1] == "-" then "array" else "object" end)
    then error("the patch \($one.op) \($one.path) is not understood")
    elif $path[-1] == "-" then setpath($path[:-1]; getpath($path[:-1]) + [$one.value])
    else setpath($path; $one.value) end);
'

# What a policy says in the language of the API server, of which all but the names of types is YAML too.
policy_as_yaml() { sed -E 's/\b(JSONPatch|Object[A-Za-z.]*)\{/{/g'; }

# example_patch JSON: the JSON patch to pods that the objects of an example have, in an annotation or a policy.
example_patch() {
  if jq --exit-status 'any(.[]; .kind == "MutatingAdmissionPolicy")' "$1" >/dev/null; then
    jq --raw-output '.[] | select(.kind == "MutatingAdmissionPolicy").spec.mutations[].jsonPatch.expression' "$1" |
      policy_as_yaml | yq --compact-output .
  else
    jq --raw-output '.[] | select(.kind == "Cluster").metadata.annotations["cnpg.io/podPatch"]' "$1"
  fi
}

# example_pod JSON: the pod that comes out, of the objects of an example.
example_pod() {
  if jq --exit-status 'any(.[]; .kind == "StatefulSet")' "$1" >/dev/null; then
    jq '.[] | select(.kind == "StatefulSet").spec as $set | '"$OPERATORS_POD"' | .spec = $set.template.spec
      | .spec.volumes += [$set.volumeClaimTemplates[] | {name: .metadata.name, emptyDir: {}}]' "$1"
  else
    jq --argjson patch "$(example_patch "$1")" "$JSON_PATCH"'
      any(.[]; .kind == "postgresql") as $has_no_security | '"$OPERATORS_POD"'
      | if $has_no_security then .spec.securityContext = {} else . end | patched($patch)' "$1"
  fi
}

# What Kubernetes has to be told so that the agent's process has CAP_SYS_NICE and nothing else. An added capability is
# effective for root alone.
AGENT_SECURITY='{runAsNonRoot: false, runAsUser: 0, runAsGroup: 0, allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true, capabilities: {drop: ["ALL"], add: ["SYS_NICE"]}}'
AGENTS='.spec as $pod | $pod.containers[] | select(.name == "headgate-agent") |'

check_example_pod() { # check_example_pod NAME JSON
  none "$1" "$2" "the agent is not there once" \
    '[.spec.containers[].name] | select((map(select(. == "headgate-agent")) | length) != 1) | tojson'
  none "$1" "$2" "the agent would not see PostgreSQL's processes under their numbers" \
    'select(.spec | .shareProcessNamespace != true or .hostPID) | .metadata.name'
  none "$1" "$2" "not the rights that the agent takes" "$AGENTS"'
    .securityContext as $own | select(($own | del(.seccompProfile)) != '"$AGENT_SECURITY"'
      or ($own.seccompProfile // $pod.securityContext.seccompProfile).type != "RuntimeDefault") | $own | tojson'
  none "$1" "$2" "others than the agent are given rights" '.spec.containers[]
    | select(.name != "headgate-agent" and (.securityContext | .privileged or .capabilities.add)) | .name'
  none "$1" "$2" "what yields would use up a limit of the processor" \
    '.spec.containers[] | select(.resources.limits.cpu).name'
  none "$1" "$2" "no memory that outlives the container, of a size, is the agent's --state-dir" "$AGENTS"'
    (.args[] | capture("^--state-dir=(?<folder>.*)$").folder) as $folder
    | [.volumeMounts[] | select(.mountPath == $folder).name] as $names
    | [$pod.volumes[] | select(.name == $names[0]).emptyDir] as $found
    | select(($found | length) != 1 or $found[0].medium != "Memory" or $found[0].sizeLimit == null) | tojson'
  none "$1" "$2" "it is not asked over the loopback address" "$AGENTS"'
    .env[] | select(.name == "HEADGATE_AGENT_DSN" and (.value | test("^host=127[.]0[.]0[.]1 ") | not)).value'
  none "$1" "$2" "mounts without a volume" '([.spec.containers[].volumeMounts[]?.name] | unique)
    - [.spec.volumes[].name] | .[]'
}

# check_example_objects NAME JSON: what objects say of each other, with the pod for one of them.
check_example_objects() {
  none "$1" "$2" "the namespace takes no CAP_SYS_NICE" '
    [.[] | select(.kind == "Namespace").metadata] as $found
    | select(($found | length) != 1
        or $found[0].labels["pod-security.kubernetes.io/enforce"] != "privileged") | tojson'
  none "$1" "$2" "a policy that nothing binds, or that acts on other pods than those of the database" '
    (map(select(.kind == "postgresql"))[0].metadata) as $database
    | [.[] | select(.kind == "MutatingAdmissionPolicyBinding").spec.policyName] as $bound
    | .[] | select(.kind == "MutatingAdmissionPolicy") | .metadata.name as $name
    | select(all($bound[]; . != $name) or (.spec.matchConstraints
        | .objectSelector.matchLabels["cluster-name"] != $database.name
        or .namespaceSelector.matchLabels["kubernetes.io/metadata.name"] != $database.namespace)) | $name'
  none "$1" "$2" "the operator would set a limit of the processor" '
    .[] | select(.kind == "postgresql" and .spec.resources.limits.cpu == null).metadata.name'
  # Lists such as a container's arguments are no part of an ApplyConfiguration, and a patch is made as often as it is asked for.
  none "$1" "$2" "a policy that the API server would not carry out once" '
    .[] | select(.kind == "MutatingAdmissionPolicy") | select(.spec
      | [.mutations[].patchType] != ["JSONPatch"] or .reinvocationPolicy != "Never"
        or any(.matchConditions[]?; .expression | test("^!.*headgate-agent")) == false) | .metadata.name'
  # The operator names the Secret of a role by the role and the database.
  none "$1" "$2" "the agent has no password" '
    . as $objects | .[] | select(.kind == "Pod").spec.containers[] | select(.name == "headgate-agent")
    | [.env[] | select(.name == "PGPASSWORD").valueFrom.secretKeyRef][0] as $key
    | select(any($objects[];
        (.kind == "Secret" and .metadata.name == $key.name and .stringData[$key.key])
        or (.kind == "postgresql" and .spec.users["headgate-agent"]
          and $key == {name: "headgate-agent.\(.metadata.name).credentials.postgresql.acid.zalan.do", key: "password"}))
      | not) | $key.name // "-"'
}

check_example() { # check_example FILE
  local name json pod
  name=$(basename "$1" .yaml) json=$CHART_WORK/$name.objects.json pod=$CHART_WORK/$name.pod.json
  check_objects "$name" "$1"
  yq --slurp . "$1" >"$json"
  if ! example_pod "$json" >"$pod"; then
    wrong "$name: no pod comes out of it"
    return
  fi
  check_objects "$name, its pod" "$pod"
  check_example_pod "$name" "$pod"
  jq --slurpfile pod "$pod" '. + $pod' "$json" >"$CHART_WORK/$name.json"
  check_example_objects "$name" "$CHART_WORK/$name.json"
  CHART_EXAMPLES_TRIED=$((CHART_EXAMPLES_TRIED + 1))
}

# The agent is one and the same in all of them, but for where its password is.
check_examples_agree() {
  local found
  found=$(jq --compact-output '.spec as $pod | $pod.containers[] | select(.name == "headgate-agent")
    | .securityContext.seccompProfile //= $pod.securityContext.seccompProfile
    | del(.env[].valueFrom)' "$CHART_WORK"/*.pod.json | jq --compact-output --sort-keys . | sort --unique | wc -l)
  [[ $found == 1 ]] || wrong "the examples in $CHART_EXAMPLES have $found different agents"
}

check_examples() {
  local file
  for file in "$CHART_EXAMPLES"/*.yaml; do check_example "$file"; done
  check_examples_agree
}
