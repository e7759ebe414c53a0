#!/usr/bin/env bash
# docs/compose: the file is one that Docker Compose takes, and its services run. They run without a container engine, as far
# as that goes: each service's command, environment, healthcheck and volumes as the file has them, in one root and one network
# that are thrown away, where the names of services are addresses. Images are stood in for by this machine's PostgreSQL, by
# the programs that were built, with what the Dockerfile says of user and environment, and by a Python with the SDK.
# Watches: docs/compose/ Dockerfile client/python/headgate/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh

HEADGATE_BIN=${HEADGATE_BIN:-$PWD/build/release/bin}
WORK=$(mktemp --directory)
ROOT=$WORK/root
COMPOSE=$WORK/compose
INSIDE=   # A process that keeps the namespaces.
DATA=/var/lib/postgresql/data

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

finish() {
  # All that runs in them ends with them.
  [[ -z $INSIDE ]] || kill -KILL "$INSIDE" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$WORK"
}

can_make_roots() {
  ((EUID == 0)) || { say "namespaces take root" && return 77; }
  unshare --mount --net --pid --fork true || { say "this machine lets nobody make namespaces" && return 77; }
  require_packages jq iproute2 util-linux postgresql-15 || return
  require_tool recipes || return
  require_tool compose-spec
}

# --- the file ---

file_is_taken() {
  cp --recursive docs/compose "$COMPOSE"
  (cd "$COMPOSE" && "$(tool_path compose-spec)" --format json compose.yaml) >"$WORK/model.json" 2>"$WORK/model.err" ||
    fail "the file is refused: $(<"$WORK/model.err")"
  # The judge judges.
  sed 's/^    healthcheck:/    wings:/' docs/compose/compose.yaml >"$WORK/wrong.yaml"
  ! (cd "$WORK" && "$(tool_path compose-spec)" wrong.yaml) >/dev/null 2>&1 || fail "a wrong file is taken"
}

service() { jq --raw-output ".services.$1 | $2" "$WORK/model.json"; } # service NAME FILTER

# Ports are for this machine alone, and each volume of a folder is one that is there.
file_is_safe() {
  local path
  [[ $(jq --raw-output '[.services[].ports[]?.host_ip] | unique | join(" ")' "$WORK/model.json") == 127.0.0.1 ]] ||
    fail "a port is published to others"
  for path in $(jq --raw-output '.services[].volumes[]? | select(.type == "bind").source' "$WORK/model.json"); do
    [[ -d $path ]] || fail "there is no $path"
  done
}

# --- one root and one network ---

enter() { nsenter --target "$INSIDE" --mount --net --pid -- chroot "$ROOT" "$@"; }

make_root() {
  local mounts
  mkdir -p "$WORK"/{upper,work,root}
  mounts=$(jq --raw-output '.services[].volumes[]? | select(.type == "bind") | "\(.source)\t\(.target)"' "$WORK/model.json")
  # shellcheck disable=SC2016
  MOUNTS=$mounts unshare --mount --net --pid --fork --kill-child bash -c '
    set -e
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
    mount -t proc proc "$1/root/proc"
    mount --rbind /dev "$1/root/dev"
    mount -t tmpfs tmpfs "$1/root/run"
    ip link set lo up
    while read -r source target; do
      mkdir -p "$1/root$target"
      mount --bind -o ro "$source" "$1/root$target"
    done <<<"$MOUNTS"
    echo "127.0.0.1 localhost $2" >"$1/root/etc/hosts"
    touch "$1/ready"
    exec sleep infinity' root "$WORK" "$(jq --raw-output '.services | keys | join(" ")' "$WORK/model.json")" &
  local parent=$! end=$((SECONDS + 60))
  until [[ -e $WORK/ready ]]; do
    kill -0 "$parent" 2>/dev/null || fail "the root cannot be made"
    ((SECONDS < end)) || fail "the root is not made"
    sleep 0.1
  done
  INSIDE=$(pgrep --parent "$parent")
  [[ ! /proc/$INSIDE/ns/net -ef /proc/self/ns/net ]] || fail "this is no network of its own"
}

# run_service NAME WORD...: behind these words, the command as the file has it, with the image's environment and its own.
IMAGE_ENVIRONMENT=()
run_service() {
  local name=$1 environment command
  shift
  mapfile -t environment < <(service "$name" '.environment // {} | to_entries[] | "\(.key)=\(.value)"')
  mapfile -t command < <(service "$name" '.command // [] | .[]')
  enter env -i "PATH=$PATH" "${IMAGE_ENVIRONMENT[@]}" "${environment[@]}" "$@" "${command[@]}" >"$WORK/$name.log" 2>&1 &
}

# A healthcheck, word for word, until it says yes.
await_healthy() { # await_healthy NAME WORD...
  local name=$1 test end=$((SECONDS + 120))
  shift
  mapfile -t test < <(service "$name" '.healthcheck.test[1:][]')
  until enter env -i "PATH=$PATH" "$@" "${test[@]}" >"$WORK/$name.health" 2>&1; do
    ((SECONDS < end)) || fail "$name is not healthy: $(<"$WORK/$name.health") $(tail --lines=5 "$WORK/$name.log")"
    sleep 0.2
  done
}

# --- the services ---

# What the image's entry point does with a folder that is new, and then the command.
start_postgres_service() {
  local user=postgres bin
  bin=$(postgres_bin)
  # shellcheck disable=SC2016
  enter bash -c '
    set -e
    install -d -o postgres -g postgres /run/postgresql "$2"
    echo "$5" >/run/password
    run() { runuser -u postgres -- "$@"; }
    run "$1/initdb" --pgdata "$2" --auth-local trust --auth-host scram-sha-256 --no-sync --pwfile=/run/password
    echo "host all all all scram-sha-256" >>"$2/pg_hba.conf"
    run "$1/pg_ctl" start --wait --silent --pgdata "$2" --options "-c listen_addresses= $4"
    run createdb "$3"
    for file in /docker-entrypoint-initdb.d/*.sql; do run psql --quiet --set ON_ERROR_STOP=1 --dbname "$3" --file "$file"; done
    run "$1/pg_ctl" stop --silent --pgdata "$2"' init "$bin" "$DATA" "$(service postgres .environment.POSTGRES_DB)" \
    "$(service postgres '.command[1:] | join(" ")')" "$(service postgres .environment.POSTGRES_PASSWORD)" >"$WORK/init.log" 2>&1 </dev/null || fail "PostgreSQL's folder: $(<"$WORK/init.log")"
  run_service postgres runuser -u "$user" -- env "PATH=$bin:$PATH" "PGDATA=$DATA"
  await_healthy postgres env "PATH=$bin:$PATH"
}

# What the Dockerfile says.
image_environment() {
  awk '/^ENV / { inside = 1 } inside { line = $0; sub(/^ENV /, "", line); sub(/ *\\$/, "", line); gsub(/^ +/, "", line); print line }
    inside && !/\\$/ { exit }' Dockerfile
}

start_headgate_service() {
  local user
  mapfile -t IMAGE_ENVIRONMENT < <(image_environment)
  user=$(sed -n 's/^USER //p' Dockerfile)
  enter install -d --owner="${user%:*}" --group="${user#*:}" /var/lib/headgate
  nsenter --target "$INSIDE" --mount cp "$HEADGATE_BIN/headgated" "$HEADGATE_BIN/headgate" "$ROOT/usr/bin/"
  run_service headgate setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --bounding-set=-all --no-new-privs \
    "$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]/\1/p' Dockerfile)"
  IMAGE_ENVIRONMENT=()
  await_healthy headgate
}

headgate() { enter /usr/bin/headgate --timeout 60s "$@"; }

# Four chunks are 2,000 rows, 1,000 more than go at once: at 500 a second no machine does them sooner than in a second. Then
# the rate is raised, as README.md says.
job_is_throttled_and_ends() {
  local job end=$((SECONDS + 300)) filled began=$EPOCHREALTIME
  run_service job env "PATH=$TOOLS/recipes/bin:$PATH" "PYTHONPATH=$PWD/client/python"
  job=$!
  until (($(grep --count '^filled up' "$WORK/job.log") >= 4)); do
    kill -0 "$job" 2>/dev/null || fail "the job has ended: $(<"$WORK/job.log")"
    ((SECONDS < end)) || fail "the job does not get on: $(<"$WORK/job.log") $(<"$WORK/headgate.log")"
    sleep 0.2
  done
  awk -v from="$began" -v to="$EPOCHREALTIME" 'BEGIN { exit to - from < 1 }' || fail "the job was not throttled"
  headgate status >"$WORK/status"
  grep --quiet 'shop' "$WORK/status" || fail "the target is not watched: $(<"$WORK/status")"
  sed --in-place 's/rate: 500/rate: 100000/; s/burst: 2s/burst: 1s/' "$COMPOSE/headgate/headgate.yaml"
  wait "$job" || fail "the job ends with $?: $(<"$WORK/job.log")"
  grep --quiet '^all rows are filled$' "$WORK/job.log" || fail "the job did not fill all: $(<"$WORK/job.log")"
  filled=$(enter runuser -u postgres -- psql --tuples-only --no-align --dbname shop --command 'SELECT count(*) FROM orders WHERE total = net + tax')
  [[ $filled == 20000 ]] || fail "$filled rows are filled"
}

# What it asked for, and that all of it was reported.
log_has_the_job() {
  local asked end=$((SECONDS + 60))
  until asked=$(headgate log --by identity -o json | jq --raw-output '[.. | objects | select(.identity? == "fill-total:backfill")] | length') &&
    ((asked > 0)); do
    ((SECONDS < end)) || fail "the log does not know the job: $(headgate log --by identity)"
    sleep 0.5
  done
  headgate status | grep --quiet '^permits outstanding 0;' || fail "permits are not reported: $(headgate status | grep permits)"
}

skip_without can_make_roots
trap finish EXIT
file_is_taken
file_is_safe
make_root
start_postgres_service
start_headgate_service
job_is_throttled_and_ends
log_has_the_job
echo "compose.yaml is taken, and its services run without an engine: the job asked $(grep --count '^filled up' "$WORK/job.log") times, and filled 20000 rows"
