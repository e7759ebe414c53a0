#!/usr/bin/env bash
# The Debian package in a bare Debian 12: installed by apt, asked, upgraded, removed and purged. No systemd runs there, so
# the server is started as its unit says: command, user, environment and state folder; what the maintainer scripts ask of
# systemd is written down, and the system calls that the server makes are held against those that its unit lets through.
# Watches: tools/package* tools/sbom.sh tools/linked.sh tools/debian_root.sh server/headgated.service
# Watches: client/agent/headgate-agent.service common/reference/ headgate.example.yaml
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/packages.sh
source tools/packages.sh
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/debian_root.sh
source tools/debian_root.sh
# shellcheck source=tools/package.sh
source tools/package.sh

WORK=$(mktemp --directory)
ROOT=$WORK/root
SERVER=
UNIT=/lib/systemd/system/headgated.service
CONFIG=/etc/headgate/headgate.yaml
STATE=/var/lib/headgate
OLD_VERSION=0.0.1
PACKAGE_FOLDER=$WORK/package
PACKAGE_BIN=${HEADGATE_BIN:-$PACKAGE_BIN}
LIMIT=30  # seconds of a processor, from `apt install` to an answer

fail() {
  echo "FAILED: $*"
  exit 1
}

finish() {
  [[ -z $SERVER ]] || kill -KILL "$SERVER" 2>/dev/null || true
  umount --recursive --lazy "$ROOT/proc" "$ROOT/dev" 2>/dev/null || true
  rm -rf "$WORK"
}

can_make_roots() {
  ((EUID == 0)) || { say "a Debian of its own takes root" && return 77; }
  unshare --mount --net true || { say "this machine lets nobody make namespaces" && return 77; }
  require_packages "${PACKAGE_PACKAGES[@]}" debootstrap iproute2 strace systemd util-linux
}

# quietly NAME COMMAND...: shows what a command printed only if it failed.
quietly() {
  local log=$WORK/$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null || { tail --lines=40 "$log" && fail "$*"; }
}

inside() { chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

# --- the packages ---

# The older one has another default configuration, so that an upgrade has something to decide.
make_packages() {
  local files=$WORK/files arch
  arch=$(dpkg --print-architecture)
  VERSION=$(project_version)
  mkdir -p "$PACKAGE_FOLDER"
  quietly files package_files "$files"
  quietly deb package_deb "$files" "$VERSION"
  quietly lintian package_check "$PACKAGE_FOLDER/headgate_${VERSION}_$arch.deb"
  quietly tarball package_tarball "$files" "$VERSION" "$arch"
  mv "$PACKAGE_FOLDER/headgate_${VERSION}_$arch.deb" "$WORK/new.deb"
  sed --in-place '1i # An older version.' "$files$CONFIG"
  quietly old package_deb "$files" "$OLD_VERSION"
  mv "$PACKAGE_FOLDER/headgate_${OLD_VERSION}_$arch.deb" "$WORK/old.deb"
}

archive_has_the_same_files() {
  local archive=("$PACKAGE_FOLDER"/headgate-*-linux-*.tar.gz) missing
  missing=$(comm -23 <(dpkg-deb --contents "$WORK/new.deb" | awk '!/\/$/ { sub(/^\.\//, "", $6); sub(/\.gz$/, "", $6); print $6 }' |
    grep -v -e '/changelog$' -e '/copyright$' -e sysusers | sort) <(tar --list --file="${archive[0]}" | sed 's#^[^/]*/##' | sort))
  [[ -z $missing ]] || fail "the archive lacks $missing"
  tar --extract --to-stdout --wildcards --file="${archive[0]}" '*/INSTALL.md' | grep --quiet ' libgrpc++1' ||
    fail "INSTALL.md names no libraries"
}

# --- the units ---

units_are_hardened() {
  local unit
  systemd-analyze verify --man=no --root="$ROOT" headgated.service headgate-agent.service 2>&1 | grep headgate &&
    fail "systemd complains of a unit"
  for unit in headgated headgate-agent; do
    systemd-analyze security --offline=true --threshold=20 --no-pager "$ROOT/lib/systemd/system/$unit.service" \
      >"$WORK/$unit.security" || fail "$unit is exposed: $(grep '✗' "$WORK/$unit.security")"
  done
  EXPOSURE=$(sed -n 's/.*exposure level for \(.*\).service: \([0-9.]*\).*/\1 \2/p' "$WORK"/*.security | paste --serial --delimiters=',')
}

unit_value() { sed -n "s/^$1=//p" "$ROOT$UNIT"; } # unit_value NAME

# --- the server, as its unit says ---

# In a network of its own, since its ports are those that everybody has.
start_server() { # start_server [TRACE]
  local user command environment=() variables=$ROOT/etc/headgate/headgated.env trace=()
  user=$(unit_value User)
  read -r -a command < <(unit_value ExecStart)
  mapfile -t environment < <(unit_value Environment)
  if [[ -e $variables ]]; then mapfile -t -O "${#environment[@]}" environment <"$variables"; fi
  if (($#)); then trace=(strace --follow-forks --quiet=all --output="$1"); fi
  inside install -d --owner="$user" --group="$user" --mode="$(unit_value StateDirectoryMode)" "/var/lib/$(unit_value StateDirectory)"
  unshare --net bash -c 'ip link set lo up && exec "$@"' network "${trace[@]}" chroot "$ROOT" setpriv --reuid="$user" --regid="$user" \
    --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs env -i "${environment[@]}" "${command[@]}" \
    >"$WORK/headgated.log" 2>&1 &
  SERVER=$!
}

# The process itself, which strace stands before; in its network.
server_pid() {
  local child
  child=$(pgrep --parent "$SERVER" --exact headgated || true)
  echo "${child:-$SERVER}"
}

ask() { nsenter --target "$SERVER" --net chroot "$ROOT" setpriv --reuid=nobody --clear-groups env -i "$@"; }

await_answer() {
  local end=$((SECONDS + 120))
  until ask headgate check job-7:etl --cost 250 >"$WORK/answer" 2>&1; do
    kill -0 "$SERVER" 2>/dev/null || fail "headgated has ended: $(<"$WORK/headgated.log")"
    ((SECONDS < end)) || fail "nobody answers: $(<"$WORK/answer") $(<"$WORK/headgated.log")"
    sleep 0.1
  done
  grep --quiet '^ALLOWED' "$WORK/answer" || fail "another answer: $(<"$WORK/answer")"
}

stop_server() {
  local status=0
  kill -TERM "$(server_pid)"
  wait "$SERVER" || status=$?
  SERVER=
  ((status == 0)) || fail "SIGTERM ends it with $status: $(tail --lines=5 "$WORK/headgated.log")"
}

# Seconds of a processor that this script's children have had: what a busy machine does not change.
cpu_seconds() {
  # shellcheck disable=SC2016
  awk -v hertz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($14 + $15) / hertz }' /proc/$$/stat
}

# --- the life of a package ---

installs_and_answers() {
  local began cpu
  cp "$WORK/old.deb" "$WORK/new.deb" "$ROOT/root"
  quietly update inside apt-get update
  began=$SECONDS
  quietly download inside apt-get install --yes --no-install-recommends --download-only /root/old.deb
  DOWNLOAD=$((SECONDS - began)) began=$SECONDS cpu=$(cpu_seconds)
  quietly install inside apt-get install --yes --no-install-recommends /root/old.deb
  start_server
  await_answer
  INSTALL=$((SECONDS - began))
  INSTALL_CPU=$(awk -v from="$cpu" -v to="$(cpu_seconds)" 'BEGIN { printf "%.1f", to - from }')
  awk -v took="$INSTALL_CPU" -v limit="$LIMIT" 'BEGIN { exit !(took > 0 && took <= limit) }' ||
    fail "from apt install to an answer it took $INSTALL_CPU s of a processor, over $LIMIT"
}

is_there() { [[ -e $ROOT$1 ]] || fail "there is no $1"; }
is_gone() { [[ ! -e $ROOT$1 ]] || fail "$1 is still there"; }

is_installed_as_said() {
  local path
  for path in /usr/share/man/man1/headgate.1.gz /usr/share/man/man8/headgated.8.gz "$CONFIG" \
    /usr/share/bash-completion/completions/headgate /usr/share/zsh/vendor-completions/_headgate \
    /usr/share/fish/vendor_completions.d/headgate.fish /usr/share/doc/headgate/examples/headgate.example.yaml \
    /usr/share/doc/headgate/copyright /lib/systemd/system/headgate-agent.service; do
    is_there "$path"
  done
  # By a link whose target is the root's own.
  [[ -L $ROOT/etc/systemd/system/multi-user.target.wants/headgated.service ]] || fail "the service is not enabled"
  [[ ! -L $ROOT/etc/systemd/system/multi-user.target.wants/headgate-agent.service ]] || fail "the agent is enabled"
  [[ $(inside getent passwd headgate) == headgate:*:/usr/sbin/nologin ]] || fail "no account headgate: $(inside getent passwd headgate)"
  [[ $(inside cat /usr/share/doc/headgate/headgate.cdx.json | jq --raw-output .metadata.component.version) == "$VERSION" ]] ||
    fail "the list of what it is made of is of another version"
  jq --exit-status '[.components[].name] | contains(["libgrpc++1.51", "libcli11-dev", "preact"])' \
    "$ROOT/usr/share/doc/headgate/headgate.cdx.json" >/dev/null || fail "the list of what it is made of lacks something"
}

# Nobody else on the machine is let in, and nobody from outside.
serves_the_loopback_alone() {
  local addresses
  addresses=$(nsenter --target "$SERVER" --net ss --no-header --listening --numeric --tcp | awk '{ print $4 }' | sort)
  [[ $addresses == $'127.0.0.1:8080\n127.0.0.1:8081' ]] || fail "it listens at $addresses"
  # A port for everybody is refused, and is said.
  mkdir -p "$ROOT/etc/headgate"
  stop_server
  echo 'HEADGATE_GRPC_ADDRESS=0.0.0.0:8081' >"$ROOT/etc/headgate/headgated.env"
  start_server
  ! wait "$SERVER" || fail "it is open to everybody"
  SERVER=
  grep --quiet 'refused to start' "$WORK/headgated.log" || fail "another reason: $(<"$WORK/headgated.log")"
  rm "$ROOT/etc/headgate/headgated.env"
  start_server
  await_answer
}

# What its comments say comes next is a configuration that is taken.
leads_to_the_first_target() {
  grep --quiet "sed -i '/^#targets/,\\$ s/^#//'" "$ROOT$CONFIG" || fail "$CONFIG does not say how the target is added"
  inside cp "$CONFIG" /root/target.yaml
  inside sed -i '/^#targets/,$ s/^#//' /root/target.yaml
  inside headgated --check-config /root/target.yaml >/dev/null || fail "what $CONFIG leads to is refused"
  grep --quiet '^targets:' "$ROOT/root/target.yaml" || fail "there is no target in $CONFIG"
}

# What the scripts ask of systemd, which seems to run from now on.
write_down_systemctl() {
  mkdir -p "$ROOT/run/systemd/system"
  cat >"$WORK/systemctl" <<'SH'
#!/bin/sh
echo "$*" >>/root/systemctl.calls
SH
  chmod +x "$WORK/systemctl"
  rm -f "$ROOT/bin/systemctl"
  cp "$WORK/systemctl" "$ROOT/bin/systemctl"
}

systemd_was_asked() { # systemd_was_asked PATTERN
  grep --quiet --extended-regexp -e "$1" "$ROOT/root/systemctl.calls" || fail "systemd was not asked to $1: $(<"$ROOT/root/systemctl.calls")"
}

upgrades() {
  local end
  ask headgate pause etl --for 2h --reason 'the upgrade' --actor admin >/dev/null
  echo '# Changed by hand.' >>"$ROOT$CONFIG"
  stop_server
  write_down_systemctl
  quietly upgrade inside apt-get install --yes -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /root/new.deb
  systemd_was_asked 'restart headgated.service'
  ! grep --quiet 'start headgate-agent' "$ROOT/root/systemctl.calls" || grep --quiet 'try-restart headgate-agent' "$ROOT/root/systemctl.calls" ||
    fail "the agent was started"
  # shellcheck disable=SC2016  # dpkg's, not the shell's
  [[ $(inside dpkg-query --show --showformat '${Version}' headgate) == "$VERSION" ]] || fail "another version"
  grep --quiet '^# Changed by hand.$' "$ROOT$CONFIG" || fail "the configuration was overwritten"
  start_server "$WORK/calls"
  end=$((SECONDS + 120))
  until ask headgate overrides 2>/dev/null | grep --quiet 'the upgrade'; do
    ((SECONDS < end)) || fail "the state was lost: $(ask headgate overrides 2>&1)"
    sleep 0.1
  done
}

# Everything that the server does, so that its calls are seen.
calls_are_let_through() {
  local refused end
  ask headgate check job-7:backfill --cost 5 >/dev/null
  ask headgate log >/dev/null
  ask headgate status >/dev/null
  cp "$ROOT/root/target.yaml" "$ROOT$CONFIG"
  end=$((SECONDS + 60))
  until ask headgate status | grep --quiet '^target main'; do
    ((SECONDS < end)) || fail "the target is not watched: $(ask headgate status)"
    sleep 0.2
  done
  [[ $(nsenter --target "$SERVER" --net curl --silent --fail http://127.0.0.1:8080/metrics) == *$'\n'headgate_* ]] ||
    fail "no metrics"
  stop_server
  # From where it is the server.
  awk '/ execve\("\/usr\/bin\/headgated"/ { is_server = 1 } is_server' "$WORK/calls" |
    sed -n -E 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' | sort --unique >"$WORK/made"
  (($(wc -l <"$WORK/made") > 30)) || fail "only these calls were seen: $(<"$WORK/made")"
  refused=$(comm -23 "$WORK/made" <(allowed_calls))
  [[ -z $refused ]] || fail "the unit does not let through: $refused"
}

# The calls of these groups, those in groups below them too.
calls_of() {
  local group
  for group in "$@"; do
    systemd-analyze syscall-filter --no-pager "$group" | sed -n -E 's/^ +([@a-z0-9_-]+)$/\1/p'
  done | while read -r name; do
    if [[ $name == @* ]]; then calls_of "$name"; else echo "$name"; fi
  done
}

allowed_calls() {
  local allowed denied
  read -r -a allowed < <(unit_value SystemCallFilter | grep -v '^~')
  read -r -a denied < <(unit_value SystemCallFilter | sed -n 's/^~//p')
  comm -23 <(calls_of "${allowed[@]}" | sort --unique) <(calls_of "${denied[@]}" | sort --unique)
}

removes_and_purges() {
  quietly remove inside apt-get remove --yes headgate
  systemd_was_asked 'stop headgated.service'
  is_gone /usr/bin/headgated
  is_there "$CONFIG"
  is_there "$STATE/overrides.db"
  echo 'HEADGATE_MAIN_DSN=secret' >"$ROOT/etc/headgate/headgated.env"
  quietly purge inside apt-get purge --yes headgate
  LEFT=$(find "$ROOT" -xdev \( -path "$ROOT/proc" -o -path "$ROOT/root" -o -path "$ROOT/var/log" -o -path "$ROOT/dev" \) -prune -o \
    -name '*headgate*' -printf '/%P\n')
  [[ -z $LEFT ]] || fail "a purge leaves $LEFT"
}

skip_without can_make_roots
trap finish EXIT
quietly debootstrap make_debian_root "$ROOT" &
BASE=$!
make_packages
archive_has_the_same_files
wait "$BASE"
mount -t proc proc "$ROOT/proc"
installs_and_answers
is_installed_as_said
units_are_hardened
serves_the_loopback_alone
leads_to_the_first_target
upgrades
calls_are_let_through
removes_and_purges
echo "in a bare Debian 12: from apt install to an answer $INSTALL s, $INSTALL_CPU s of a processor, after $DOWNLOAD s of download;" \
  "upgraded, removed and purged; exposure: $EXPOSURE"
