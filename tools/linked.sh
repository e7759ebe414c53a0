# What programs are linked with, and which of Debian's packages files are of.
# shellcheck shell=bash

# libraries PROGRAM...: everything that they are linked with, loader included.
libraries() {
  local found
  found=$(ldd "$@")
  if grep 'not found' <<<"$found" >&2; then return 1; fi
  sed -n 's#^.*[[:space:]]\(/[^ ]*\) (0x[0-9a-f]*)$#\1#p' <<<"$found" | sort --unique
}

# packages_of FILE...: dpkg knows a file by the name that it was packed under, with or without /usr.
packages_of() {
  local file owner
  for file in "$@"; do
    file=$(readlink --canonicalize-existing "$file")
    owner=$(dpkg --search "$file" 2>/dev/null) || owner=$(dpkg --search "${file#/usr}")
    echo "${owner%%: *}"
  done | sort --unique
}
