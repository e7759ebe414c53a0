#!/usr/bin/env bash
# headgate agent beside a real PostgreSQL in namespaces and a cgroup as a pod has them, with the command, the environment and
# the rights that helm/examples/agent says: it works there, and where something is missing it says what. What a machine does
# not let anybody do is named in the last line.
# Watches: helm/examples/ tools/chart_examples.sh client/agent/ client/scheduling/
# Needs: headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/chart.sh
source tools/chart.sh

WORK=
PAUSE=      # The first process in the pod's namespace of processes, by its number here.
USERS=()    # --user: the pod has accounts of its own.
GROUP=      # The pod's cgroup.
CASES=0
NOT_TRIED=

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

not_tried() { NOT_TRIED+="; not tried: $*"; }

can_make_pods() {
  ((EUID == 0)) || { say "namespaces of pods take root" && return 77; }
  unshare --pid --fork --mount --mount-proc --net true || { say "this machine lets nobody make namespaces" && return 77; }
  require_packages "${DEMO_PACKAGES[@]}" "${CHART_PACKAGES[@]}" iproute2 procps util-linux
}

# await WHAT COMMAND...
await() {
  local end=$((SECONDS + 120))
  until "${@:2}"; do
    ((SECONDS <= end)) || fail "$1 does not come; $(cat "$WORK"/{pod,agent}.log 2>/dev/null)"
    sleep 0.1
  done
}

# --- the pod ---

# Becomes the first process of the pod: a network with nothing but the loopback interface, a volume for the agent as the
# kubelet makes it, and cgroups that can be read alone.
# shellcheck disable=SC2016
ENTER_POD='
set -euo pipefail
ip link set lo up
mount -t tmpfs -o mode=755 run /run
mkdir --mode=777 /run/headgate-agent
for folder in /sys/fs/cgroup /sys/fs/cgroup/*/; do
  if mountpoint --quiet "$folder" && [[ $(stat --file-system --format=%T "$folder") == cgroup* ]]; then
    mount --bind "$folder" "$folder"
    mount -o remount,bind,ro "$folder"
  fi
done
touch "$1"
exec sleep infinity
'

# The same with accounts of its own, as with hostUsers: false, once they are known.
# shellcheck disable=SC2016
ENTER_USERS='
set -euo pipefail
until grep --quiet . /proc/self/uid_map; do sleep 0.1; done
exec setpriv --reuid=0 --regid=0 --clear-groups bash -euc "
  mount -t proc proc /proc
  ip link set lo up
  mount -t tmpfs -o mode=755 run /run
  mkdir --mode=777 /run/headgate-agent
  touch \"\$1\"
  exec sleep infinity" pod "$1"
'
FIRST_ACCOUNT=200000

first_child() {
  PAUSE=$(cut --delimiter=' ' --fields=1 "/proc/$1/task/$1/children" 2>/dev/null) && [[ -n $PAUSE ]]
}

make_pod() {
  unshare --pid --fork --mount --mount-proc --net bash -c "$ENTER_POD" pod "$WORK/ready" 2>"$WORK/pod.log" &
  await "the pod's first process" first_child $!
  await "the pod" test -e "$WORK/ready"
}

# Whether the machine makes such ones.
make_pod_with_users() {
  rm -rf "$WORK/ready" "$WORK/postgres"
  chmod 777 "$WORK"
  unshare --user --keep-caps --pid --fork --mount --net bash -c "$ENTER_USERS" pod "$WORK/ready" 2>"$WORK/pod.log" &
  await "the pod's first process" first_child $!
  USERS=(--user)
  { echo "0 $FIRST_ACCOUNT 65536" >"/proc/$PAUSE/uid_map" && echo "0 $FIRST_ACCOUNT 65536" >"/proc/$PAUSE/gid_map"; } \
    2>/dev/null || return 1
  await "the pod" test -e "$WORK/ready"
}

end_pod() {
  [[ -n $PAUSE ]] || return 0
  kill -KILL "$PAUSE" 2>/dev/null || true  # and with it all in its namespace of processes
  wait
  PAUSE=
  if [[ -n $GROUP ]]; then await "the end of all in $GROUP" rmdir "$GROUP" 2>/dev/null; fi
  GROUP='' USERS=()
}

end_all() {
  end_pod
  rm -rf "$WORK"
}

# in_pod COMMAND...: as a container with shareProcessNamespace is.
in_pod() { nsenter --target "$PAUSE" ${USERS[@]+"${USERS[@]}"} --pid --mount --net -- "$@"; }

as_postgres_in_pod() { in_pod setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=-all -- "$@"; }

in_database() { as_postgres_in_pod psql --quiet --no-psqlrc --host "$WORK/postgres" --username postgres "$@"; }

# As the image postgres does it, with the script that the example has for the agent's role.
start_database() {
  local script
  in_pod install --directory --owner=postgres --group=postgres "$WORK/postgres"
  as_postgres_in_pod "$(postgres_bin)/initdb" --pgdata "$WORK/postgres/data" --username postgres --auth-local=trust \
    --auth-host=scram-sha-256 --no-sync >"$WORK/initdb.log" 2>&1 || fail "initdb: $(<"$WORK/initdb.log")"
  as_postgres_in_pod "$(postgres_bin)/pg_ctl" start --wait --silent --pgdata "$WORK/postgres/data" \
    --log "$WORK/postgres/log" --options "-c listen_addresses=127.0.0.1 -c port=5432 -c fsync=off \
      -c unix_socket_directories=$WORK/postgres" || fail "PostgreSQL: $(<"$WORK/postgres/log")"
  script=$(jq --raw-output '.[] | select(.kind == "ConfigMap").data["headgate-agent.sh"]' "$WORK/statefulset.objects.json")
  as_postgres_in_pod env PGHOST="$WORK/postgres" HEADGATE_AGENT_PASSWORD=secret bash -euc "$script" >/dev/null ||
    fail "the example's script does not make the agent's role"
  in_database --command "CREATE ROLE etl LOGIN" --command "CREATE ROLE web LOGIN"
}

# A cgroup with the cpu controller, as a container has it, and all of the pod in it. Nothing of the machine's is changed for it.
make_group() {
  local folder pid
  for folder in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
    if [[ -e $folder/cpu.shares ]] || grep --quiet --word-regexp cpu "$folder/cgroup.subtree_control" 2>/dev/null; then
      GROUP=$folder/headgate-pod-$$
      mkdir "$GROUP" 2>/dev/null || GROUP=
      break
    fi
  done
  [[ -n $GROUP ]] || return 1
  for pid in $(pgrep --ns "$PAUSE" --nslist pid); do echo "$pid" >"$GROUP/cgroup.procs" 2>/dev/null || true; done
  # What has ended meanwhile is not there any more.
  [[ $(wc --lines <"$GROUP/cgroup.procs") -ge 5 ]] || fail "$GROUP does not take the pod"
}

# --- the agent, as the example has it ---

AGENT=        # Its container, as JSON.
AGENT_CALL=() # Its command and what it is given, with this build's program.

read_agent() {
  AGENT=$(jq --compact-output '.spec.containers[] | select(.name == "headgate-agent")' "$WORK/statefulset.pod.json")
  mapfile -t AGENT_CALL < <(jq --raw-output '
    (.env[] | select(.value) | "\(.name)=\(.value)"), "PGPASSWORD=secret", (.command + .args)[]' <<<"$AGENT")
  AGENT_CALL=("${AGENT_CALL[@]/#\/usr\/bin\/headgate/$WORK/headgate}")
}

# rights FILTER: as setpriv takes them, what Kubernetes gives a container of this security context, changed by the filter.
rights() {
  jq --raw-output ".securityContext | $1"' | "--reuid=\(.runAsUser)", "--regid=\(.runAsGroup)", "--clear-groups",
    "--inh-caps=-all", "--no-new-privs",
    "--bounding-set=" + (["-all"] + [.capabilities.add[]? | "+" + ascii_downcase] | join(","))' <<<"$AGENT"
}

# agent FILTER [ARGUMENT...]: in the pod, with the rights of the example, as the filter changes them.
agent() {
  local given
  mapfile -t given < <(rights "$1")
  in_pod setpriv "${given[@]}" env -i "${AGENT_CALL[@]}" "${@:2}"
}

# says STATUS TEXT COMMAND...: it ends so, and says that; an agent that is checked.
says() {
  local status=0 output
  output=$("${@:3}" --check 2>&1) || status=$?
  [[ $status == "$1" && $output == *"$2"* ]] || fail "not '$2' and $1, but $status: $output"
  CASES=$((CASES + 1))
}

# --- what becomes of it ---

# Where nobody has put PostgreSQL into a group, each of its sessions is one by itself.
without_a_group() {
  if [[ $(</proc/sys/kernel/sched_autogroup_enabled) != 1 ]] || ! grep --quiet ':cpu[^:]*:/$' "/proc/$PAUSE/cgroup"; then
    not_tried "autogroups, which are off here, or PostgreSQL is in a cgroup already"
    return
  fi
  says 4 "; each backend is an autogroup of its own" agent .
}

as_the_example_says() {
  says 0 "Read-only file system" agent .
  says 0 "yields: yes, by SCHED_IDLE" agent .
}

process_in_pod() { pgrep --ns "$PAUSE" --nslist pid --exact "$1"; }

# Where the agent sees PostgreSQL's cgroup it says what a proof on one processor can't.
says_a_limit() {
  if [[ -e $GROUP/cpu.max ]]; then echo "350000 100000" >"$GROUP/cpu.max"; else echo 350000 >"$GROUP/cpu.cfs_quota_us"; fi
  says 0 "PostgreSQL may use 3.50 processors there, and what yields uses them up too" agent .
  if [[ -e $GROUP/cpu.max ]]; then echo "max 100000" >"$GROUP/cpu.max"; else echo -1 >"$GROUP/cpu.cfs_quota_us"; fi
  says 0 "the rank counts within the cgroup $GROUP" agent .
}

class_is() { # class_is PID CLASS
  [[ $(in_pod ps --no-headers -o cls --pid "$1") =~ ^\ *$2$ ]]
}

# session ROLE: runs beside this; its number in SESSION.
session() {
  as_postgres_in_pod psql --no-psqlrc --host "$WORK/postgres" --username "$1" --command "SELECT pg_sleep(600)" \
    postgres >/dev/null 2>&1 &
  await "the session of $1" session_of "$1"
}
session_of() {
  SESSION=$(in_database --no-align --tuples-only --command \
    "SELECT max(pid) FROM pg_stat_activity WHERE usename = '$1' AND state = 'active'" postgres) && [[ -n $SESSION ]]
}

# Sessions yield, and are as they were when the container is stopped, or was killed and is started again.
lowers_and_restores() {
  local etl web call
  session etl && etl=$SESSION
  session web && web=$SESSION
  agent . >"$WORK/agent.log" 2>&1 &
  call=$!
  await yielding class_is "$etl" IDL
  class_is "$web" TS || fail "a session of nobody's batch work yields"
  # All of the container, as by its runtime, and the watchdog first, so that nobody has time to restore.
  kill -KILL "$(process_in_pod headgate-watch)" "$(process_in_pod headgate)"
  wait "$call" || true
  class_is "$etl" IDL || fail "nothing is left yielding"
  agent . >"$WORK/agent.log" 2>&1 &
  call=$!
  await "the next start, which restores" grep --quiet "an earlier agent had left sessions that yield: 1 are as they were" \
    "$WORK/agent.log"
  await yielding class_is "$etl" IDL
  kill -TERM "$(process_in_pod headgate)"
  wait "$call" || fail "the agent ends with $?: $(<"$WORK/agent.log")"
  class_is "$etl" TS || fail "a session yields for nobody"
  CASES=$((CASES + 1))
}

# Without shareProcessNamespace: its own namespace of processes, in the same network.
without_the_processes() {
  says 4 "is not seen here; the agent has to run in PostgreSQL's namespace of processes" \
    in_pod unshare --pid --fork --mount-proc env -i "${AGENT_CALL[@]}"
}

without_the_capability() {
  local refusal="SCHED_IDLE: does not: sched_setaffinity: Operation not permitted (CAP_SYS_NICE is missing)"
  says 4 "$refusal" agent '.capabilities.add = []'
  # Kubernetes gives added capabilities to no process of another user than root.
  says 4 "$refusal" agent '.runAsUser = 65532 | .runAsGroup = 65532'
}

# PostgreSQL's own account may lower its processes, and raise them again where their own limit lets it.
as_postgres_itself() {
  local account pid
  account=".capabilities.add = [] | .runAsUser = $(id --user postgres) | .runAsGroup = $(id --group postgres)"
  says 4 "SCHED_IDLE: does not: it can't be taken back: sched_setscheduler: Operation not permitted" agent "$account"
  for pid in $(pgrep --ns "$PAUSE" --nslist pid); do
    if ! prlimit --pid "$pid" --nice=20:20 2>/dev/null; then
      not_tried "RLIMIT_NICE of 20, to which nobody may raise it here"
      return
    fi
  done
  says 0 "yields: yes, by SCHED_IDLE" agent "$account"
}

# From the machine that the pod runs on, into the namespaces that it takes, with the machine's own files.
from_the_node() {
  local call=("${AGENT_CALL[@]/#--state-dir=*/--state-dir=$WORK/state}")
  says 0 "SCHED_IDLE: yields" nsenter --target "$PAUSE" --pid --net -- unshare --mount --mount-proc env -i "${call[@]}"
}

skip_without can_make_pods
WORK=$(mktemp --directory)
chmod 755 "$WORK"
trap end_all EXIT
install --mode=755 "$HEADGATE_BIN/headgate" "$WORK/headgate"
CHART_WORK=$WORK
yq --slurp . "$CHART_EXAMPLES/statefulset.yaml" >"$WORK/statefulset.objects.json"
example_pod "$WORK/statefulset.objects.json" >"$WORK/statefulset.pod.json"
read_agent

make_pod
start_database
without_a_group
if make_group; then
  as_the_example_says
  says_a_limit
  lowers_and_restores
  from_the_node
  as_postgres_itself
else
  not_tried "a cgroup with the cpu controller, which cannot be made here"
fi
without_the_processes
without_the_capability
end_pod
if make_pod_with_users; then
  start_database
  says 4 "(CAP_SYS_NICE does not count in a user namespace)" agent .
else
  not_tried "a user namespace, for which accounts cannot be mapped here"
fi
echo "the agent of $CHART_EXAMPLES in a pod's namespaces: $CASES cases$NOT_TRIED"
