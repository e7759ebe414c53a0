# What ./dev image does: builds the Dockerfile without a daemon, and tries the image for real.
# shellcheck shell=bash disable=SC2016

# shellcheck source=tools/image_run.sh
source tools/image_run.sh
# shellcheck source=tools/version.sh
source tools/version.sh
# shellcheck source=tools/debian_root.sh
source tools/debian_root.sh

IMAGE_BASE=localhost/headgate-base:$DEBIAN_SUITE
IMAGE_NAME=localhost/headgate:latest
IMAGE_FOLDER=$PWD/build/image  # Everything but the compiler's cache goes again.

image_fail() {
  echo "FAILED: $*"
  exit 1
}

image_buildah() {
  buildah --root "$IMAGE_FOLDER/storage" --runroot "$IMAGE_FOLDER/run" --storage-driver vfs "$@"
}

# image_logged NAME COMMAND...: shows what the command printed only if it failed.
image_logged() {
  local log=$IMAGE_FOLDER/$1.log began=$SECONDS
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail --lines=40 "$log"
    image_fail "$*"
  fi
  say "$(basename "$log" .log): $((SECONDS - began)) s"
}

# The smallest system that debootstrap makes, as an image to build on.
image_make_base() {
  local root=$IMAGE_FOLDER/base container
  make_debian_root "$root" || return
  container=$(image_buildah from scratch) &&
    image_buildah add "$container" "$root" / &&
    image_buildah commit --rm "$container" "$IMAGE_BASE" &&
    rm -rf "$root"
}

image_build() {
  mkdir -p "$IMAGE_FOLDER/ccache"
  image_buildah build --isolation chroot --format oci --build-arg "BASE=$IMAGE_BASE" \
    --build-arg "VERSION=$(project_version)" --build-arg "REVISION=$(project_revision)" \
    --build-arg "CREATED=$(project_date)" \
    --volume "$IMAGE_FOLDER/ccache:/ccache" --tag "$IMAGE_NAME" --file "${1:-Dockerfile}" .
}

image_clean() {
  image_stop || true
  if [[ -n $IMAGE_MOUNT ]]; then rmdir "$IMAGE_MOUNT" && IMAGE_MOUNT=; fi
  find "$IMAGE_FOLDER" -mindepth 1 -maxdepth 1 ! -name ccache ! -name '*.log' -exec rm -rf {} +
}

# image_save ARCHIVE: a file for `docker load`, or oci:FOLDER:TAG.
image_save() {
  case $1 in
    oci:*) image_buildah push "$IMAGE_NAME" "$1" ;;
    *) image_buildah push "$IMAGE_NAME" "docker-archive:$1:headgate:latest" ;;
  esac
}

# make_image [ARCHIVE]: the last line sums up.
make_image() {
  ((EUID == 0)) || image_fail "takes root, for debootstrap and for namespaces"
  mkdir -p "$IMAGE_FOLDER"
  image_clean
  trap image_clean EXIT
  image_logged image-base image_make_base
  image_logged image-build image_build
  if (($#)); then image_logged image-archive image_save "$1"; fi
  try_image
}
