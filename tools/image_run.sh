# Runs the image for real: its entry point and environment as its user, in a mount namespace where
# its root is read-only but for the state folder, in a network of its own.
#
# buildah cannot make a root read-only without a container runtime, hence unshare and chroot.
# shellcheck shell=bash

IMAGE_PID=      # Of headgated in its namespaces.
IMAGE_ROOT=     # Folder of the image's files.
IMAGE_MOUNT=    # Where they are mounted, in namespaces alone: buildah's folders are root's.
IMAGE_MOST_MB=100

# image_inspect FILTER: of the image's configuration.
image_inspect() {
  image_buildah inspect --type image "$IMAGE_NAME" | jq --raw-output ".OCIv1.config | $1"
}

# Runs in the new namespaces, and becomes the server. A container runtime makes the same mounts.
# shellcheck disable=SC2016
IMAGE_ENTER='
set -euo pipefail
files=$1 root=$2 state=$3 user=$4
shift 4
mount --bind "$files" "$root"
mount --bind "$state" "$root/var/lib/headgate"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
touch "$root/dev/null" "$root/dev/urandom"
for device in null urandom; do mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,ro "$root/dev"
mount -o remount,bind,ro "$root"
ip link set lo up
exec env -i "$@" setpriv --no-new-privs chroot --userspec="$user" "$root" /usr/bin/headgated
'

# image_start [VARIABLE=VALUE...]: with these besides its own.
image_start() {
  local user environment state=$IMAGE_FOLDER/state
  user=$(image_inspect .User)
  mapfile -t environment < <(image_inspect '.Env[]')
  [[ $(image_inspect '.Entrypoint | tojson') == '["/usr/bin/headgated"]' ]] ||
    image_fail "another entry point: $(image_inspect .Entrypoint)"
  mkdir -p "$state" "$IMAGE_ROOT"/{proc,dev}
  # With the owner and rights of the image's folder, as a new volume has.
  chown --reference="$IMAGE_ROOT/var/lib/headgate" "$state"
  chmod --reference="$IMAGE_ROOT/var/lib/headgate" "$state"
  unshare --mount --net bash -c "$IMAGE_ENTER" enter "$IMAGE_ROOT" "$IMAGE_MOUNT" \
    "$state" "$user" "${environment[@]}" "$@" >"$IMAGE_FOLDER/headgated.log" 2>&1 &
  IMAGE_PID=$!
}

# image_inside NAMESPACE... COMMAND...
image_inside() { nsenter --target "$IMAGE_PID" "$@"; }

# In a network of its own; until then port 8080 would be somebody else's.
image_is_inside() { [[ ! /proc/$IMAGE_PID/ns/net -ef /proc/self/ns/net ]]; }

image_wait() {
  local end=$((SECONDS + 120))
  while ((SECONDS <= end)); do
    if image_is_inside &&
      image_inside --net curl --silent --fail http://127.0.0.1:8080/readyz >/dev/null; then
      return
    fi
    kill -0 "$IMAGE_PID" 2>/dev/null || break
    sleep 0.1
  done
  tail --lines=20 "$IMAGE_FOLDER/headgated.log"
  image_fail "the image does not get ready"
}

# image_expect PATTERN COMMAND...: the command succeeds, and prints that.
image_expect() {
  local pattern=$1 output
  shift
  output=$("$@" 2>&1) || image_fail "$* ended with $?: $output"
  grep --quiet --extended-regexp -e "$pattern" <<<"$output" || image_fail "no '$pattern': $output"
}

image_ask() {
  local address=127.0.0.1:8081 grpcurl
  grpcurl=$(tool_path grpcurl)
  image_expect '"verdict": "VERDICT_ALLOWED"' image_inside --net "$grpcurl" -plaintext \
    -d '{"identity": "job-7:backfill"}' "$address" headgate.v1.ThrottlerService/Check
  image_expect '"version": "[0-9.]+"' image_inside --net "$grpcurl" -plaintext "$address" \
    headgate.v1.StatusService/GetStatus
  image_expect '"status": "SERVING"' image_inside --net "$grpcurl" -plaintext "$address" \
    grpc.health.v1.Health/Check
  image_expect '^headgate_' image_inside --net curl --silent --fail http://127.0.0.1:8080/metrics
  # By the command line in the image; and what the server writes to its state folder.
  image_expect '.' image_inside --mount --net chroot --userspec=65532:65532 "$IMAGE_MOUNT" \
    /usr/bin/headgate pause etl --for 1h --reason 'trying the image' --actor image
  image_expect 'etl' image_inside --mount --net chroot --userspec=65532:65532 "$IMAGE_MOUNT" \
    /usr/bin/headgate overrides
  [[ -s $IMAGE_FOLDER/state/overrides.db ]] || image_fail "nothing is kept in the state folder"
}

# The process is what the image's user may be, and no more.
image_check_confined() {
  local pattern status
  status=$(grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs):' "/proc/$IMAGE_PID/status")
  for pattern in '^Uid:.65532.65532.65532.65532$' '^Gid:.65532.65532.65532.65532$' '^Groups:.65532 *$' \
    '^CapPrm:.0000000000000000$' '^CapEff:.0000000000000000$' '^NoNewPrivs:.1$'; do
    grep --quiet "$pattern" <<<"$status" || image_fail "not $pattern: $status"
  done
}

# What user 65532 could write below the mount, but for /proc and /dev, which are not the image's.
image_writable() {
  setpriv --reuid=65532 --regid=65532 --clear-groups find "$1" -mindepth 1 \
    \( -path "$1/proc" -o -path "$1/dev" \) -prune -o -writable ! -type l -printf '/%P\n'
}

# The state folder alone, even where whoever runs the image leaves its root writable.
image_check_writable() {
  local found
  export -f image_writable
  found=$(unshare --mount bash -c "mount --bind '$IMAGE_ROOT' '$IMAGE_MOUNT' &&
    image_writable '$IMAGE_MOUNT'") || image_fail "cannot look through the image: $found"
  [[ $found == /var/lib/headgate ]] || image_fail "can be written in the image: $found"
  found=$(image_inside --mount bash -c "image_writable '$IMAGE_MOUNT'") ||
    image_fail "cannot look through the running image: $found"
  found=$(grep -v '^/var/lib/headgate\(/\|$\)' <<<"$found") || true
  [[ -z $found ]] || image_fail "can be written on a read-only root: $found"
  found=$(image_inside --mount bash -c "touch '$IMAGE_MOUNT/touched' 2>&1") || true
  [[ $found == *'Read-only file system'* ]] || image_fail "the root is not read-only, even for root"
}

# As it is it listens for the whole network, and lets in whoever comes: that takes somebody's word.
image_check_refusal() {
  local status=0
  image_start
  wait "$IMAGE_PID" || status=$?
  IMAGE_PID=
  if ((status != 2)) || ! grep --quiet 'refused to start: 0.0.0.0:8081 is in plaintext' "$IMAGE_FOLDER/headgated.log"; then
    image_fail "it does not refuse to be open to everybody, but ends with $status: $(tail --lines=5 "$IMAGE_FOLDER/headgated.log")"
  fi
}

# What registries and scanners show of it.
image_check_labels() {
  local label
  for label in title description vendor url source documentation version created revision; do
    [[ $(image_inspect ".Labels[\"org.opencontainers.image.$label\"] // empty") ]] || image_fail "no label $label"
  done
}

# What it is made of: every package that has a file in it, and the page.
image_check_contents() {
  local list=$IMAGE_ROOT/usr/share/doc/headgate/headgate.cdx.json missing
  missing=$(comm -23 <(find "$IMAGE_ROOT/var/lib/dpkg/status.d" -type f ! -name ca-certificates ! -name tzdata -printf '%f\n' | sort) \
    <(jq --raw-output '.components[].name' "$list" | sort))
  [[ -z $missing ]] || image_fail "$list lacks $missing"
  jq --exit-status '.bomFormat == "CycloneDX" and ([.components[].name] | contains(["preact"]))' "$list" >/dev/null ||
    image_fail "$list lacks the page"
}

image_check_size() {
  IMAGE_MB=$(($(du --summarize --apparent-size --bytes "$IMAGE_ROOT" | cut --fields=1) / 1000000))
  ((IMAGE_MB <= IMAGE_MOST_MB)) || image_fail "$IMAGE_MB MB, over $IMAGE_MOST_MB"
  [[ ! -e $IMAGE_ROOT/bin/sh && ! -e $IMAGE_ROOT/usr/bin/sh ]] || image_fail "there is a shell"
}

# Ends with the status of the server.
image_stop() {
  local pid=$IMAGE_PID
  [[ -n $pid ]] || return 0
  IMAGE_PID=
  kill -TERM "$pid" 2>/dev/null || true
  wait "$pid"
}

try_image() {
  local container began=$SECONDS
  container=$(image_buildah from "$IMAGE_NAME")
  IMAGE_ROOT=$(image_buildah mount "$container")
  IMAGE_MOUNT=$(mktemp --directory)
  chmod 755 "$IMAGE_MOUNT"
  image_check_size
  image_check_labels
  image_check_contents
  image_check_refusal
  image_start HEADGATE_IF_EXPOSED=warn
  image_wait
  image_ask
  image_check_confined
  image_check_writable
  image_stop || image_fail "SIGTERM ends it with $?: $(tail --lines=5 "$IMAGE_FOLDER/headgated.log")"
  say "image-run: $((SECONDS - began)) s"
  echo "image: $IMAGE_MB MB, user 65532, read-only root, asked by gRPC and HTTP, ended with 0"
}
