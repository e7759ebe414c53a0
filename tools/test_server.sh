# For shell tests that need a headgated: a folder for its files, $WORK, and one server at a time with
# the configuration $WORK/headgate.yaml. When the test ends, nothing of either is left.
# shellcheck shell=bash

WORK=$(mktemp --directory)
SERVER=
trap 'stop_server || true; rm -rf "$WORK"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# within SECONDS COMMAND...: until the command succeeds; asked twenty times a second, and once more at the end.
within() {
  local end=$((SECONDS + $1))
  shift
  while ((SECONDS <= end)); do
    if "$@"; then return; fi
    sleep 0.05
  done
  "$@"
}

server_listens() {
  kill -0 "$SERVER" 2>/dev/null || fail "the server ended: $(cat "$WORK/log" "$WORK/headgate.yaml")"
  [[ -s $WORK/port && -s $WORK/http_port ]]
}

# start_server: until it listens on $ADDRESS, and for HTTP on $HTTP_ADDRESS. What it says is in $WORK/log.
start_server() {
  rm -f "$WORK/port" "$WORK/http_port"
  "$HEADGATE_BIN/headgated" --config "$WORK/headgate.yaml" --grpc-address 127.0.0.1:0 \
    --http-address 127.0.0.1:0 --http-port-file "$WORK/http_port" --port-file "$WORK/port" \
    2>"$WORK/log" &
  SERVER=$!
  # Each file comes whole, under its name at once.
  within 120 server_listens || fail "the server does not listen with: $(<"$WORK/headgate.yaml")"
  # shellcheck disable=SC2034
  ADDRESS=127.0.0.1:$(<"$WORK/port") HTTP_ADDRESS=127.0.0.1:$(<"$WORK/http_port")
}

# Ends with the server's status; 0 where there is none.
stop_server() {
  local server=$SERVER
  SERVER=
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server"
  fi
}
