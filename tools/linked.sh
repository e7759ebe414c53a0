# What programs are linked with, and which of Debian's packages files are of.
# shellcheck shell=bash

# libraries PROGRAM...: everything that they are linked with, loader included.
libraries() {
  local found
  found=$(ldd "$@")
  if grep 'not found' <<<"$found" >&2; then return 1; fi
  sed -n 's#^.*[[:space:]]\(/[^ ]*\) (0x[0-9a-f]*)$#\1#p' <<<"$found" | sort --unique
}

# packages_of FILE...: by dpkg's own lists, which know a file by the name that it was packed under, with or without /usr.
packages_of() {
  local lists=(/var/lib/dpkg/info/*.list)
  realpath --canonicalize-existing -- "$@" | sed 'p; s#^/usr/lib#/lib#' | sort --unique |
    grep --files-with-matches --line-regexp --fixed-strings --file=- "${lists[@]}" |
    sed 's#.*/##; s#\.list$##' | sort --unique
}
