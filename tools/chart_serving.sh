# Runs what the chart renders: the real headgated with the pod's own arguments and configuration, and
# against it the call that NOTES.txt shows and the command of the test pod.
# shellcheck shell=bash

CHART_SERVER=  # Process of the server that runs now.

# The files that a cluster would mount, below $CHART_WORK/etc instead of /etc/headgate.
make_credentials() {
  local etc=$CHART_WORK/etc
  mkdir -p "$etc"/{tls,client-ca,tokens,dsn,ca,client,token}
  {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca \
      -keyout "$etc/ca.key" -out "$etc/ca/ca.crt"
    make_certificate "$etc/tls" "DNS:demo-headgate.prod.svc,IP:127.0.0.1"
    make_certificate "$etc/client" "URI:spiffe://prod/ns/jobs/sa/backfill"
  } >"$CHART_WORK/openssl.log" 2>&1 || wrong "no certificates: $(<"$CHART_WORK/openssl.log")"
  cp "$etc/ca/ca.crt" "$etc/client-ca/ca.crt"
  echo -n a-token-of-the-test-that-is-long-enough >"$etc/token/token"
  echo "sre sha256:$(sha256sum <"$etc/token/token" | cut -c 1-64)" >"$etc/tokens/tokens"
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

# Replaces what only a pod has: its files, and ports of its own.
on_this_machine() {
  sed -E -e "s#/etc/headgate/config/headgate.yaml#$CHART_WORK/headgate.yaml#g" \
    -e "s#/etc/headgate/#$CHART_WORK/etc/#g" -e "s#/var/lib/headgate#$CHART_WORK/state#" \
    -e 's#^(--[a-z-]+-address)=(0\.0\.0\.0|\[::\]):[0-9]+$#\1=127.0.0.1:0#'
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

wait_for_file() {
  local _
  for _ in {1..400}; do
    [[ ! -s $1 ]] || return 0
    kill -0 "$CHART_SERVER" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

stop_serving() {
  local server=$CHART_SERVER
  [[ -n $server ]] || return 0
  CHART_SERVER=
  kill "$server" 2>/dev/null && wait "$server"
}

# The status line of the answer to GET PATH.
http_status() { # http_status PORT PATH
  local line
  exec {connection}<>"/dev/tcp/127.0.0.1/$1" || return
  printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&"$connection"
  IFS= read -r -t 5 line <&"$connection" || line="no answer"
  exec {connection}>&-
  echo "$line"
}

server_arguments() {
  jq --raw-output '.[] | select(.kind == "StatefulSet") | .spec.template.spec.containers[0].args[]' "$1"
}

# start_serving NAME JSON: the server with the arguments that the pod gives it.
start_serving() {
  local args
  rm -rf "$CHART_WORK"/{state,port,http-port}
  mkdir "$CHART_WORK/state"
  mapfile -t args < <(server_arguments "$2" | on_this_machine)
  HEADGATE_ORDERS_DSN=$(<"$CHART_WORK/etc/dsn/orders-1") "$CHART_BIN/headgated" "${args[@]}" \
    --port-file "$CHART_WORK/port" --http-port-file "$CHART_WORK/http-port" \
    >"$CHART_WORK/log" 2>&1 &
  CHART_SERVER=$!
  if ! wait_for_file "$CHART_WORK/port" || ! wait_for_file "$CHART_WORK/http-port"; then
    wrong "$1: the server does not start: $(<"$CHART_WORK/log")"
    return 1
  fi
}

# check_call NAME VALUES JSON: the call of the notes gets an answer, by the Service's port.
check_call() {
  local notes call answer port
  notes=$(notes_call "$2")
  port=$(jq '.[] | select(.kind == "Service" and .spec.clusterIP != "None").spec.ports[]
    | select(.name == "grpc").port' "$3")
  grep --quiet "port-forward service/[a-z-]* 8081:$port &" <<<"$notes" ||
    wrong "$1: NOTES.txt forwards another port than $port"
  call=$(sed -n '/^  grpcurl /,/localhost:8081/p' <<<"$notes")
  call=${call/localhost:8081/127.0.0.1:$(<"$CHART_WORK/port")}
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
    mapfile -t words < <(jq --raw-output '.[]' <<<"$line" | on_this_machine |
      sed -e "s#^/usr/bin/#$CHART_BIN/#" \
        -e "s#^--address=.*#--address=127.0.0.1:$(<"$CHART_WORK/port")#")
    output=$("${words[@]}" 2>&1) || wrong "$1: the test pod's ${words[*]} fails: $output"
  done < <(jq --compact-output '.[] | select(.kind == "Pod").spec.containers[].command' "$2")
}

# check_checks NAME JSON: what the hook and the pod run before the server takes the configuration.
check_checks() {
  local line words output
  while IFS= read -r line; do
    mapfile -t words < <(jq --raw-output '.[]' <<<"$line" | on_this_machine | sed -e "s#^/usr/bin/#$CHART_BIN/#")
    output=$("${words[@]}" 2>&1) || wrong "$1: the check ${words[*]} fails: $output"
  done < <(jq --compact-output '.[] | select(.kind == "Job" or .kind == "StatefulSet").spec.template.spec
    | (.initContainers // .containers)[0] | .command + .args' "$2")
}

# check_alive NAME PATH: liveness does not wait for a database.
check_alive() {
  local line
  line=$(http_status "$(<"$CHART_WORK/http-port")" "$2" 2>&1) || true
  [[ $line =~ ^HTTP/1\.[01]\ 200 ]] || wrong "$1: $2 answers '$line'"
}

# check_serving NAME VALUES JSON
check_serving() {
  local path line alive
  jq --raw-output 'map(select(.kind == "ConfigMap").data["headgate.yaml"] // empty)[0]' "$3" |
    on_this_machine >"$CHART_WORK/headgate.yaml"
  check_checks "$1" "$3"
  if start_serving "$1" "$3"; then
    check_call "$1" "$2" "$3"
    check_test_pod "$1" "$3"
    path=$(jq --raw-output '.[] | select(.kind == "StatefulSet")
      | .spec.template.spec.containers[0].readinessProbe.httpGet.path' "$3")
    line=$(http_status "$(<"$CHART_WORK/http-port")" "$path" 2>&1) || true
    alive=$(jq --raw-output '.[] | select(.kind == "StatefulSet")
      | .spec.template.spec.containers[0].livenessProbe.httpGet.path // empty' "$3")
    if [[ -n $alive ]]; then check_alive "$1" "$alive"; fi
    # 503: the databases of the example cannot be reached.
    [[ $line =~ ^HTTP/1\.[01]\ (200|503) ]] || wrong "$1: $path answers '$line'"
    CHART_ASKED=$((CHART_ASKED + 1))
    stop_serving || wrong "$1: the server does not end with 0: $(tail --lines=5 "$CHART_WORK/log")"
  fi
  stop_serving || true
}
