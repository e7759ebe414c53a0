# Several servers that share their targets: what the chart renders for them, and that they find and believe each other
# with it, through a store in a real PostgreSQL.
# shellcheck shell=bash disable=SC2016  # jq's variables, not the shell's

# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh

# Without a store that runs, nothing else can be said.
fail() {
  wrong "$*"
  exit 1
}

# check_members NAME JSON: names, addresses and certificates of the servers fit together, and pods keep apart.
check_members() {
  none "$1" "$2" "a PodDisruptionBudget of one pod protects nothing, or blocks drains; of several one at a time may go" '
    (.[] | select(.kind == "StatefulSet").spec) as $server
    | [.[] | select(.kind == "PodDisruptionBudget").spec] as $found
    | select(($found | length) != (if $server.replicas > 1 then 1 else 0 end)
        or any($found[]; .selector != $server.selector or (.maxUnavailable | . != 1 and . != "34%")))
    | $found | tojson'
  none "$1" "$2" "several servers without a store" '
    .[] | select(.kind == "StatefulSet" and .spec.replicas > 1).spec.template.spec.containers[0].env
    | select(any(.[]?; .name == "HEADGATE_MEMBER") | not) | "\(.)"'
  none "$1" "$2" "servers that are not spread" '
    .[] | select(.kind == "StatefulSet" and .spec.replicas > 1).spec.template
    | .metadata.labels as $labels | .spec.topologySpreadConstraints // []
    | select(length == 0 or any(.[]; .labelSelector.matchLabels // {} | to_entries
        | length == 0 or any($labels[.key] != .value))) | tojson'
  is_cluster "$2" || return 0
  none "$1" "$2" "nobody looks at the tables of the store before servers meet them" '
    (map(select(.kind == "ConfigMap" and .data["headgate.yaml"]) | {key: .metadata.name, value: .}) | from_entries) as $configs
    | (map(select(.kind == "StatefulSet"))[0].spec.template.spec) as $pod
    | def hooks: .metadata.annotations["helm.sh/hook"] // "" | split(",");
      def weight: .metadata.annotations["helm.sh/hook-weight"] | tonumber;
    [.[] | select(.kind == "Job" and (.metadata.name | endswith("-store"))) | . as $job | .spec.template.spec
      | $configs[.volumes[] | select(.name == "config").configMap.name] as $config
      | select(($job | hooks) == ["pre-install", "pre-upgrade"] and ($config | hooks | contains(["pre-install", "pre-upgrade"]))
          and ($config | weight) < ($job | weight) and .containers[0].args[0] == "--store-tables=check"
          and all(.containers[], .initContainers[]?; .image == $pod.containers[0].image))]
    | select(length != 1) | tojson'
  none "$1" "$2" "servers whose names or addresses are not those of their pods" '
    (.[] | select(.kind == "Service" and .spec.clusterIP == "None")) as $headless
    | .[] | select(.kind == "StatefulSet").spec.template.spec.containers[0].env
    | map(select(.name | startswith("HEADGATE_MEMBER")))
    | select(. != [{name: "HEADGATE_MEMBER", valueFrom: {fieldRef: {fieldPath: "metadata.name"}}},
        {name: "HEADGATE_MEMBER_ADDRESS",
         value: "$(HEADGATE_MEMBER).\($headless.metadata.name).prod.svc:\($headless.spec.ports[0].port)"}])
    | tojson'
  none "$1" "$2" "one that hands its targets over is not found any more" '
    .[] | select(.kind == "Service" and .spec.clusterIP == "None" and .spec.publishNotReadyAddresses != true).metadata.name'
  none "$1" "$2" "servers do not reach each other, or the store" '
    (.[] | select(.kind == "StatefulSet").spec.selector) as $servers
    | .[] | select(.kind == "NetworkPolicy").spec
    | ([.ingress[] | select(any(.from[]; .podSelector == $servers) and any(.ports[]; .port == "grpc"))] | length) as $in
    | (if .egress then
         ([.egress[] | select(any(.to[]?; .podSelector == $servers) and any(.ports[]; .port == "grpc"))] | length)
       else 1 end) as $out
    | select($in != 1 or $out != 1) | tojson'
  none "$1" "$2" "a certificate that servers do not accept" '
    (.[] | select(.kind == "Service" and .spec.clusterIP == "None").metadata.name + ".prod.svc") as $host
    | .[] | select(.kind == "Certificate").spec
    | select((.dnsNames | contains([$host, "*.\($host)"]) | not)
        or (.usages | contains(["server auth", "client auth"]) | not)) | tojson'
}

is_cluster() { # is_cluster JSON
  jq --exit-status 'any(.[] | select(.kind == "StatefulSet").spec.template.spec.containers[0].env[]?;
    .name == "HEADGATE_MEMBER")' "$1" >/dev/null
}

# Below those that the kernel gives to outgoing connections. 0 for a server alone, which takes any.
member_port() { # member_port JSON
  local port
  if ! is_cluster "$1"; then
    echo 0
    return
  fi
  while true; do
    port=$((20000 + (BASHPID * 37 + RANDOM) % 12000))
    (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# member_environment JSON POD PORT: who the server of that pod is, as Kubernetes would put it.
member_environment() {
  jq --raw-output --arg pod "$2" --arg port "$3" '
    .[] | select(.kind == "StatefulSet").spec.template.spec.containers[0].env[]?
    | select(.name | startswith("HEADGATE_MEMBER"))
    | (if .valueFrom.fieldRef.fieldPath == "metadata.name" then $pod
       else .value | gsub("\\$[(]HEADGATE_MEMBER[)]"; $pod) | sub(":8081$"; ":\($port)") end) as $value
    | "\(.name)=\($value)"' "$1"
}

# The names of pods. gRPC's resolver asks for addresses of both kinds, and a name server where one is missing.
write_hosts() { # write_hosts JSON
  local pod address
  for ((pod = 0; pod < $(replicas_of "$1"); pod++)); do
    address=$(member_environment "$1" "demo-headgate-$pod" 0 | sed -n 's/^HEADGATE_MEMBER_ADDRESS=\(.*\):0$/\1/p')
    [[ -z $address ]] || printf '%s %s\n' 127.0.0.1 "$address" ::1 "$address"
  done >"$CHART_WORK/hosts"
}

# It takes a namespace of mounts, where a name server would be too much.
can_name_pods() { "${OWN_MOUNTS[@]}" true 2>/dev/null; }
OWN_MOUNTS=(unshare --mount)
((EUID == 0)) || OWN_MOUNTS+=(--map-root-user)

# with_names_of_pods COMMAND...: becomes it, where pods have addresses; to be run in the background.
with_names_of_pods() {
  exec "${OWN_MOUNTS[@]}" bash -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$CHART_WORK/hosts" "$@"
}

# prepare_store NAME JSON: a database of its own, with tables, and the Secrets that lead there: of the servers' own role,
# which may use what others make, and of one that makes it.
prepare_store() {
  local file database=${1//-/_} said
  write_hosts "$2"
  is_cluster "$2" || return 0
  [[ -n $POSTGRES ]] || WORK=$CHART_WORK start_postgres
  unset PGHOST PGUSER PGDATABASE
  file=$(store_file)
  echo "host=$CHART_WORK/postgres user=headgate dbname=$database" >"$file"
  echo "host=$CHART_WORK/postgres user=postgres dbname=$database" >"$CHART_WORK/etc/store-admin/dsn"
  in_store postgres "CREATE DATABASE $database" || fail "no database for the store"
  in_store "$1" "$STORE_ROLE" || fail "no role for the servers"
  if ! jq --exit-status "any(.[] | $STORE_JOB; .initContainers)" "$2" >/dev/null; then
    said=$(HEADGATE_STORE_DSN=$(<"$CHART_WORK/etc/store-admin/dsn") "$CHART_BIN/headgate" store init 2>&1) ||
      fail "no store: $said"
  fi
  run_store_job "$1" "$2"
}

# Where the servers' connection string is.
store_file() { yq --raw-output .cluster.store.dsn_file "$(pod_folder 0)/headgate.yaml"; }

# As docs/kubernetes.md has it, for tables that do not exist yet.
STORE_ROLE='
DO $$ BEGIN CREATE ROLE headgate LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO headgate;
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO headgate;'

STORE_JOB='select(.kind == "Job" and (.metadata.name | endswith("-store"))).spec.template.spec'

# run_store_job NAME JSON: what the Job runs, in its order, each with the connection string of its Secret.
run_store_job() {
  local line words said
  while IFS= read -r line; do
    mapfile -t words < <(jq --raw-output '.words[]' <<<"$line" | on_this_machine 0 | sed "s#^/usr/bin/#$CHART_BIN/#")
    said=$(HEADGATE_STORE_DSN=$(<"$(jq --raw-output .file <<<"$line" | on_this_machine 0)") "${words[@]}" 2>&1) ||
      wrong "$1: the Job's ${words[*]} fails: $said"
  done < <(jq --compact-output ".[] | $STORE_JOB"' | .volumes as $volumes | (.initContainers // []) + .containers | .[]
    | (.env[] | select(.name == "HEADGATE_STORE_DSN").valueFrom.secretKeyRef) as $from
    | ($volumes[] | select(.secret.secretName == $from.name).name) as $volume
    | {words: (.command + .args), file: "\(.volumeMounts[] | select(.name == $volume).mountPath)/\($from.key)"}' "$2")
}

# check_without_store NAME JSON: a server that starts while the store is away gets no calls, and is left alive until
# it is back: the kubelet would not end it.
check_without_store() {
  local file store folder which said
  file=$(store_file) folder=$(pod_folder 0)
  store=$(<"$file")
  echo "host=$CHART_WORK/nowhere dbname=nowhere" >"$file"
  start_pod "$2" 0 "$(member_port "$2")"
  if wait_for_file "$folder/port" "${CHART_SERVERS[0]}" && wait_for_file "$folder/http-port" "${CHART_SERVERS[0]}"; then
    for which in startupProbe livenessProbe; do
      said=$(ask_probe "$2" 0 "$which") || wrong "$1: while the store is away the $which fails: $said"
    done
    if said=$(ask_probe "$2" 0 readinessProbe); then wrong "$1: while the store is away the server is ready"; fi
  else
    wrong "$1: without the store the server does not start: $(tail --lines=5 "$folder/log")"
  fi
  stop_serving || wrong "$1: without the store the server ends badly: $(tail --lines=5 "$folder/log")"
  echo "$store" >"$file"
}

in_store() { # in_store NAME SQL
  psql --quiet --no-psqlrc --no-align --tuples-only --host "$CHART_WORK/postgres" --username postgres "${1//-/_}" \
    --command "$2"
}

end_store() { WORK=$CHART_WORK stop_postgres; }

# wait_until_ready NAME POD
wait_until_ready() {
  local line end=$((SECONDS + CHART_PATIENCE))
  while ((SECONDS <= end)); do
    line=$(http_status "$(<"$(pod_folder "$2")/http-port")" /readyz 2>&1) || true
    [[ ! $line =~ ^HTTP/1\.[01]\ 200 ]] || return 0
    sleep 0.1
  done
  wrong "$1: server $2 is not ready: $line: $(tail --lines=5 "$(pod_folder "$2")/log")"
}

# check_sharing NAME VALUES JSON: all servers are members, whichever is asked answers for every target, and one that
# is replaced as in a rolling update is missed by nobody.
check_sharing() {
  local pod members expected last=$((${#CHART_SERVERS[@]} - 1)) port
  for pod in "${!CHART_SERVERS[@]}"; do wait_until_ready "$1" "$pod"; done
  for pod in "${!CHART_SERVERS[@]}"; do check_call "$1" "$2" "$3" "$pod"; done
  members=$(in_store "$1" "SELECT string_agg(name, ' ' ORDER BY name) FROM headgate_store.member")
  printf -v expected 'demo-headgate-%s ' "${!CHART_SERVERS[@]}"
  [[ "$members " == "$expected" ]] ||
    wrong "$1: the servers are $members"
  port=$(<"$(pod_folder "$last")/port")
  kill "${CHART_SERVERS[last]}"
  check_call "$1" "$2" "$3" 0
  wait "${CHART_SERVERS[last]}" || wrong "$1: server $last ends badly: $(tail --lines=5 "$(pod_folder "$last")/log")"
  for ((pod = 0; pod < last; pod++)); do check_call "$1" "$2" "$3" "$pod"; done
  start_pod "$3" "$last" "$port"
  wait_for_file "$(pod_folder "$last")/http-port" "${CHART_SERVERS[last]}" || wrong "$1: server $last does not start again"
  wait_until_ready "$1" "$last"
  check_call "$1" "$2" "$3" "$last"
}
