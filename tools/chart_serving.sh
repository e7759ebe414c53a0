# Runs what the chart renders: the real headgated with each pod's own arguments, environment and configuration, and
# against it the call that NOTES.txt shows and the command of the test pod.
# shellcheck shell=bash

CHART_SERVERS=()  # Processes of the servers that run now, one for each pod.

# The files that a cluster would mount, below $CHART_WORK/etc instead of /etc/headgate.
make_credentials() {
  local etc=$CHART_WORK/etc
  mkdir -p "$etc"/{tls,client-ca,tokens,dsn,ca,client,token,store,store-admin,cluster}
  {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca \
      -keyout "$etc/ca.key" -out "$etc/ca/ca.crt"
    make_certificate "$etc/client" "URI:spiffe://prod/ns/jobs/sa/backfill"
  } >"$CHART_WORK/openssl.log" 2>&1 || wrong "no certificates: $(<"$CHART_WORK/openssl.log")"
  cp "$etc/ca/ca.crt" "$etc/client-ca/ca.crt"
  echo -n a-token-of-the-test-that-is-long-enough >"$etc/token/token"
  echo "sre sha256:$(sha256sum <"$etc/token/token" | cut -c 1-64)" >"$etc/tokens/tokens"
  openssl rand -out "$etc/cluster/secret" 32
  # Nothing listens there: the server has to bear it.
  echo "host=127.0.0.1 port=1 dbname=app user=headgate" |
    tee "$etc/dsn/orders-1" >"$etc/dsn/orders-2"
  echo secret >"$etc/dsn/billing-password"
}

make_certificate() { # make_certificate FOLDER SUBJECT_ALTERNATIVE_NAMES
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=leaf \
    -keyout "$1/tls.key" -out "$1/tls.csr" &&
    openssl x509 -req -in "$1/tls.csr" -CA "$CHART_WORK/etc/ca/ca.crt" -CAkey "$CHART_WORK/etc/ca.key" \
      -set_serial "0x$(openssl rand -hex 8)" -days 2 -out "$1/tls.crt" \
      -extfile <(echo "subjectAltName=$2")
}

pod_folder() { echo "$CHART_WORK/pod-$1"; }

# certificate_names JSON POD: those of the certificate that the pod would have, which are those of the Certificate,
# or the driver is asked for, or an operator would choose.
certificate_names() {
  jq --raw-output --arg pod "$2" '
    (.[] | select(.kind == "StatefulSet").spec.template.spec.volumes[] | select(.name == "tls").csi
      | .volumeAttributes // empty) as $asked
    | "csi.cert-manager.io/" as $prefix
    | ($asked[$prefix + "dns-names"] | split(",")[] | "DNS:" + .), ($asked[$prefix + "uri-sans"] | split(",")[] | "URI:" + .)
    | gsub("\\$[{]POD_NAME[}]"; $pod) | gsub("\\$[{]POD_NAMESPACE[}]"; "prod")' "$1"
  jq --raw-output '.[] | select(.kind == "Certificate").spec.dnsNames[] | "DNS:" + .' "$1"
  echo DNS:demo-headgate.prod.svc
}

make_server_certificate() { # make_server_certificate JSON ORDINAL
  local folder names
  folder=$(pod_folder "$2")/tls
  mkdir "$folder"
  names=$(certificate_names "$1" "demo-headgate-$2" | sort --unique)$'\nIP:127.0.0.1'
  make_certificate "$folder" "$(paste --serial --delimiters=, <<<"$names")" >"$CHART_WORK/openssl.log" 2>&1 ||
    wrong "no certificate for $names: $(<"$CHART_WORK/openssl.log")"
}

# on_this_machine ORDINAL: replaces what only a pod has: its files, and ports of its own.
on_this_machine() {
  local folder
  folder=$(pod_folder "$1")
  sed -E -e "s#/etc/headgate/config/headgate.yaml#$folder/headgate.yaml#g" -e "s#/etc/headgate/tls/#$folder/tls/#g" \
    -e "s#/etc/headgate/#$CHART_WORK/etc/#g" -e "s#/var/lib/headgate#$folder/state#" \
    -e 's#^(--[a-z-]+-address)=(0\.0\.0\.0|\[::\]):[0-9]+$#\1=127.0.0.1:0#' -e 's#^(--pre-stop)=.*#\1=100ms#' -e 's#^(--ready-after)=.*#\1=1s#'
}

# The command that NOTES.txt shows for these values.
notes_call() { # notes_call VALUES
  local copy=$CHART_WORK/notes
  rm -rf "$copy"
  cp -r "$CHART" "$copy"
  # `helm template` leaves the notes out: here they are the text of an object.
  {
    echo '{{- define "notes" -}}'
    cat "$CHART/templates/NOTES.txt"
    echo '{{- end -}}'
  } >"$copy/templates/_notes.tpl"
  echo '{notes: {{ include "notes" . | toJson }}}' >"$copy/templates/notes.yaml"
  rm "$copy/templates/NOTES.txt"
  chart_render "$copy" --values "$1" --show-only templates/notes.yaml | yq --raw-output .notes
}

# For as long as a busy machine may take.
CHART_PATIENCE=120

wait_for_file() { # wait_for_file FILE PROCESS
  local end=$((SECONDS + CHART_PATIENCE))
  until [[ -s $1 ]]; do
    kill -0 "$2" 2>/dev/null || return 1
    ((SECONDS <= end)) || return 1
    sleep 0.05
  done
}

# All at once. The status is that of one which does not end with 0.
stop_serving() {
  local server status=0 servers=("${CHART_SERVERS[@]}")
  CHART_SERVERS=()
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  for server in "${servers[@]}"; do wait "$server" || status=$?; done
  return "$status"
}

# The status line of the answer to GET PATH.
http_status() { # http_status PORT PATH
  local line
  exec {connection}<>"/dev/tcp/127.0.0.1/$1" || return
  printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&"$connection"
  IFS= read -r -t "$CHART_PATIENCE" line <&"$connection" || line="no answer"
  exec {connection}>&-
  echo "$line"
}

server_arguments() {
  jq --raw-output '.[] | select(.kind == "StatefulSet") | .spec.template.spec.containers[0].args[]' "$1"
}

# make_pod JSON ORDINAL: the folder of its files.
make_pod() {
  local folder
  folder=$(pod_folder "$2")
  rm -rf "$folder"
  mkdir -p "$folder/state"
  make_server_certificate "$1" "$2"
  jq --raw-output 'map(select(.kind == "ConfigMap").data["headgate.yaml"] // empty)[0]' "$1" |
    on_this_machine "$2" >"$folder/headgate.yaml"
}

# start_pod JSON ORDINAL PORT: a server with the arguments and the environment that the pod gives it, in the
# background.
start_pod() {
  local args variables folder
  folder=$(pod_folder "$2")
  rm -rf "$folder"/{port,http-port}
  mapfile -t args < <(server_arguments "$1" | on_this_machine "$2" | sed "s#^--grpc-address=.*:0\$#--grpc-address=127.0.0.1:$3#")
  mapfile -t variables < <(member_environment "$1" "demo-headgate-$2" "$3")
  with_names_of_pods env HEADGATE_ORDERS_DSN="$(<"$CHART_WORK/etc/dsn/orders-1")" "${variables[@]}" \
    "$CHART_BIN/headgated" "${args[@]}" \
    --port-file "$folder/port" --http-port-file "$folder/http-port" >"$folder/log" 2>&1 &
  CHART_SERVERS[$2]=$!
}

# start_serving NAME JSON: all pods.
start_serving() {
  local replicas pod folder
  replicas=$(replicas_of "$2")
  prepare_store "$1" "$2"
  for ((pod = 0; pod < replicas; pod++)); do
    folder=$(pod_folder "$pod")
    start_pod "$2" "$pod" "$(member_port "$2")"
    if ! wait_for_file "$folder/port" "${CHART_SERVERS[pod]}" ||
      ! wait_for_file "$folder/http-port" "${CHART_SERVERS[pod]}"; then
      wrong "$1: the server does not start: $(<"$folder/log")"
      return 1
    fi
  done
}

replicas_of() { jq '.[] | select(.kind == "StatefulSet").spec.replicas' "$1"; }

# check_call NAME VALUES JSON ORDINAL: the call of the notes gets an answer of that pod, by the Service's port.
check_call() {
  local notes call answer port
  notes=$(notes_call "$2")
  port=$(jq '.[] | select(.kind == "Service" and .spec.clusterIP != "None").spec.ports[]
    | select(.name == "grpc").port' "$3")
  grep --quiet "port-forward service/[a-z-]* 8081:$port &" <<<"$notes" ||
    wrong "$1: NOTES.txt forwards another port than $port"
  call=$(sed -n '/^  grpcurl /,/localhost:8081/p' <<<"$notes")
  call=${call/localhost:8081/127.0.0.1:$(<"$(pod_folder "$4")/port")}
  call=${call/grpcurl/$(tool_path grpcurl)}
  cp "$CHART_WORK"/etc/client/tls.* "$CHART_WORK/etc/ca/ca.crt" "$CHART_WORK"
  if ! answer=$(cd "$CHART_WORK" && TOKEN=$(<etc/token/token) bash -c "$call" 2>&1); then
    wrong "$1: the call that NOTES.txt shows fails: $call: $answer"
  elif [[ $answer != *'"verdict": "VERDICT_'* ]]; then
    wrong "$1: the call that NOTES.txt shows gets no verdict: $answer"
  fi
}

# check_test_pod NAME JSON: what `helm test` runs succeeds.
check_test_pod() {
  local line words output
  while IFS= read -r line; do
    mapfile -t words < <(jq --raw-output '.[]' <<<"$line" | on_this_machine 0 |
      sed -e "s#^/usr/bin/#$CHART_BIN/#" \
        -e "s#^--address=.*#--address=127.0.0.1:$(<"$(pod_folder 0)/port")#")
    output=$("${words[@]}" 2>&1) || wrong "$1: the test pod's ${words[*]} fails: $output"
  done < <(jq --compact-output '.[] | select(.kind == "Pod").spec.containers[].command' "$2")
}

# check_checks NAME JSON: what the hook and the pod run before the server takes the configuration.
check_checks() {
  local line words output
  while IFS= read -r line; do
    mapfile -t words < <(jq --raw-output '.[]' <<<"$line" | on_this_machine 0 | sed -e "s#^/usr/bin/#$CHART_BIN/#")
    output=$("${words[@]}" 2>&1) || wrong "$1: the check ${words[*]} fails: $output"
  done < <(jq --compact-output '.[] | select(.kind == "StatefulSet" or (.kind == "Job" and (.metadata.name | endswith("-check"))))
    .spec.template.spec | (.initContainers // .containers)[0] | .command + .args' "$2")
}

# ask_probe JSON ORDINAL PROBE: as the kubelet does. Where the probe fails, so does this, and prints the answer.
ask_probe() {
  local probe answer
  probe=$(jq --compact-output --arg probe "$3" \
    '.[] | select(.kind == "StatefulSet").spec.template.spec.containers[0][$probe]' "$1")
  if jq --exit-status 'has("grpc")' <<<"$probe" >/dev/null; then
    answer=$("$(tool_path grpcurl)" -plaintext -max-time "$CHART_PATIENCE" -import-path proto -proto grpc/health/v1/health.proto \
      -d "$(jq --compact-output '{service: (.grpc.service // "")}' <<<"$probe")" "127.0.0.1:$(health_port "$2")" \
      grpc.health.v1.Health/Check 2>&1) || true
    [[ $answer != *'"status": "SERVING"'* ]] || return 0
  else
    answer=$(http_status "$(<"$(pod_folder "$2")/http-port")" "$(jq --raw-output .httpGet.path <<<"$probe")" 2>&1) || true
    [[ ! $answer =~ ^HTTP/1\.[01]\ 200 ]] || return 0
  fi
  echo "$answer"
  return 1
}

# health_port ORDINAL: the server's log alone tells it.
health_port() {
  local port='' end=$((SECONDS + CHART_PATIENCE))
  while ((SECONDS <= end)); do
    port=$(sed -n 's/.*"event":"serving probes".*"port":"\([0-9]*\)".*/\1/p' "$(pod_folder "$1")/log" | tail --lines=1)
    [[ -z $port ]] || break
    sleep 0.05
  done
  echo "$port"
}

# check_serving NAME VALUES JSON
check_serving() {
  local path line which said pod
  for ((pod = 0; pod < $(replicas_of "$3"); pod++)); do make_pod "$3" "$pod"; done
  check_checks "$1" "$3"
  if start_serving "$1" "$3"; then
    check_call "$1" "$2" "$3" 0
    if is_cluster "$3"; then check_sharing "$1" "$2" "$3"; fi
    check_test_pod "$1" "$3"
    path=$(jq --raw-output '.[] | select(.kind == "StatefulSet")
      | .spec.template.spec.containers[0].readinessProbe.httpGet.path' "$3")
    line=$(http_status "$(<"$(pod_folder 0)/http-port")" "$path" 2>&1) || true
    # Neither waits for a database.
    for which in startupProbe livenessProbe; do
      said=$(ask_probe "$3" 0 "$which") || wrong "$1: the $which fails: $said"
    done
    # 503: the databases of the example cannot be reached.
    [[ $line =~ ^HTTP/1\.[01]\ (200|503) ]] || wrong "$1: $path answers '$line'"
    CHART_ASKED=$((CHART_ASKED + ${#CHART_SERVERS[@]}))
    stop_serving || wrong "$1: a server does not end with 0: $(tail --lines=5 "$CHART_WORK"/pod-*/log)"
    if is_cluster "$3"; then check_without_store "$1" "$3"; fi
  fi
  stop_serving || true
}
