# What ./dev package does: a Debian package and a tarball of the same files, in build/package.
#
# debhelper makes the package of a folder of files and of tools/package/debian; the programs are release's.
# shellcheck shell=bash

# shellcheck source=tools/version.sh
source tools/version.sh

PACKAGE_FOLDER=$PWD/build/package
PACKAGE_BIN=$PWD/build/release/bin

# package_reference ROOT PROGRAM SECTION: its manual page, and completion where each shell looks for it.
package_reference() {
  local root=$1 program=$2 section=$3 flags=reference
  if [[ $program == headgated ]]; then flags=--reference; fi
  mkdir -p "$root/usr/share/man/man$section" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
  "$PACKAGE_BIN/$program" "$flags" man >"$root/usr/share/man/man$section/$program.$section"
  "$PACKAGE_BIN/$program" "$flags" bash >"$root/usr/share/bash-completion/completions/$program"
  "$PACKAGE_BIN/$program" "$flags" zsh >"$root/usr/share/zsh/vendor-completions/_$program"
  "$PACKAGE_BIN/$program" "$flags" fish >"$root/usr/share/fish/vendor_completions.d/$program.fish"
}

# package_files ROOT: what is installed, at its place.
package_files() {
  local root=$1 doc=$1/usr/share/doc/headgate
  rm -rf "$root"
  install -D --target-directory="$root/usr/bin" "$PACKAGE_BIN/headgated" "$PACKAGE_BIN/headgate"
  strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root"/usr/bin/*
  install -D --mode=644 --target-directory="$root/lib/systemd/system" server/headgated.service \
    client/agent/headgate-agent.service
  install -D --mode=644 tools/package/headgate.yaml "$root/etc/headgate/headgate.yaml"
  install -D --mode=644 headgate.example.yaml "$doc/examples/headgate.example.yaml"
  package_reference "$root" headgate 1
  package_reference "$root" headgated 8
  tools/sbom.sh release "$PACKAGE_BIN/headgated" "$PACKAGE_BIN/headgate" >"$doc/headgate.cdx.json"
}

# package_deb ROOT VERSION: leaves headgate_VERSION_ARCH.deb in PACKAGE_FOLDER.
package_deb() {
  local source=$PACKAGE_FOLDER/source version=$2
  rm -rf "$source"
  mkdir -p "$source"
  cp --recursive tools/package/debian "$source/debian"
  ln --symbolic "$1" "$source/files"
  mkdir "$source/debian/source"
  echo '3.0 (native)' >"$source/debian/source/format"
  cat >"$source/debian/changelog" <<CHANGELOG
headgate ($version) bookworm; urgency=medium

  * Version $version: docs/release-notes.md of the source says what is new.

 -- The Headgate authors <headgate@users.noreply.github.com>  $(date --utc --rfc-email --date="@$(project_epoch)")
CHANGELOG
  (cd "$source" && SOURCE_DATE_EPOCH=$(project_epoch) DEB_BUILD_OPTIONS='noautodbgsym parallel=1' \
    dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) >"$PACKAGE_FOLDER/deb.log" 2>&1 ||
    { tail --lines=40 "$PACKAGE_FOLDER/deb.log" && return 1; }
}

# package_tarball ROOT VERSION ARCH: the same files, and a note of how they are installed. Its dependencies are the package's.
package_tarball() {
  local name=headgate-$2-linux-$3 depends
  depends=$(dpkg-deb --field "$PACKAGE_FOLDER/headgate_$2_$3.deb" Depends)
  rm -rf "${PACKAGE_FOLDER:?}/$name"
  cp --recursive "$1" "$PACKAGE_FOLDER/$name"
  DEPENDS=$(tr ',' '\n' <<<"$depends" | sed 's/^ *//; s/ .*//' | grep -v '^systemd$' | paste --serial --delimiters=' ') \
    awk '{ gsub(/@DEPENDS@/, ENVIRON["DEPENDS"]); print }' tools/package/INSTALL.md >"$PACKAGE_FOLDER/$name/INSTALL.md"
  tar --create --gzip --directory="$PACKAGE_FOLDER" --file="$PACKAGE_FOLDER/$name.tar.gz" --sort=name --owner=0 \
    --group=0 --numeric-owner --mtime="@$(project_epoch)" "$name"
  rm -rf "${PACKAGE_FOLDER:?}/$name"
}

# lintian holds a package to Debian's policy. What it is told to leave out is about where a package comes from: this one
# closes no request of Debian's.
package_check() { # package_check DEB
  lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$1"
}

make_package() {
  local version arch root=$PACKAGE_FOLDER/files
  version=$(project_version)
  arch=$(dpkg --print-architecture)
  mkdir -p "$PACKAGE_FOLDER"
  package_files "$root" || return
  package_deb "$root" "$version" || return
  package_check "$PACKAGE_FOLDER/headgate_${version}_$arch.deb" || return
  package_tarball "$root" "$version" "$arch" || return
  rm -rf "$PACKAGE_FOLDER"/{files,source,*.changes,*.buildinfo}
  (cd "$PACKAGE_FOLDER" && ls -s --block-size=1 "headgate_${version}_$arch.deb" "headgate-$version-linux-$arch.tar.gz") |
    sed 's/^/package: /'
}
