# A bare Debian 12 in a folder, made by debootstrap from the mirror that apt uses here.
# shellcheck shell=bash

DEBIAN_SUITE=bookworm

# Debian's repositories of the suite, with its updates and security, as apt has them: a URI, a release
# and a component on each line.
debian_repositories() {
  # shellcheck disable=SC2016  # apt's variables, not the shell's
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    'Origin: Debian' | awk -v suite="$DEBIAN_SUITE" '$2 == suite || index($2, suite "-") == 1'
}

# The smallest system that debootstrap makes, with apt as it is set up here.
make_debian_root() { # make_debian_root ROOT
  local mirror root=$1
  mirror=$(debian_repositories | awk -v suite="$DEBIAN_SUITE" '$2 == suite { print $1; exit }')
  [[ -n $mirror ]] || { echo "apt knows no repository of $DEBIAN_SUITE" && return 1; }
  debootstrap --variant=minbase "$DEBIAN_SUITE" "$root" "$mirror" || return
  debian_repositories | sed 's/^/deb /' >"$root/etc/apt/sources.list"
  apt-config dump Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until \
    >"$root/etc/apt/apt.conf.d/90host"
}
