# Which PostgreSQL the tests, benchmarks and the demo run: the newest of Debian's, or that of --postgres
# VERSION. tests/testing/postgres_installation.h finds it by HEADGATE_POSTGRES.
# shellcheck shell=bash

# All that are supported, but for Debian's: tools.sh has their releases.
POSTGRES_PINNED=(14 16 17 18)

# require_postgres VERSION: installs it where it is a pinned one. Status 77: it cannot be had here.
require_postgres() {
  [[ ! -x /usr/lib/postgresql/$1/bin/initdb ]] || return 0
  if [[ " ${POSTGRES_PINNED[*]} " != *" $1 "* ]]; then
    say "PostgreSQL $1 is neither in /usr/lib/postgresql nor one that is installed here: ${POSTGRES_PINNED[*]}"
    return 77
  fi
  require_tool "postgresql-$1"
}

# postgres_folder VERSION: of one that is there.
postgres_folder() {
  local folder=/usr/lib/postgresql/$1
  if [[ ! -x $folder/bin/initdb ]]; then folder=$TOOLS/postgresql-$1; fi
  echo "$folder"
}

# take_postgres ARGUMENT...: --postgres VERSION into POSTGRES_VERSION, all others into ARGUMENTS.
take_postgres() {
  POSTGRES_VERSION='' ARGUMENTS=()
  while (($#)); do
    if [[ $1 == --postgres ]]; then
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage_error "--postgres takes a version, such as 18"
      POSTGRES_VERSION=$2
      shift
    else
      ARGUMENTS+=("$1")
    fi
    shift
  done
}

# Once the packages are there, which bring the account that PostgreSQL runs as.
use_postgres() {
  [[ -n $POSTGRES_VERSION ]] || return 0
  require_postgres "$POSTGRES_VERSION" >&2 || return 1
  HEADGATE_POSTGRES=$(postgres_folder "$POSTGRES_VERSION")
  export HEADGATE_POSTGRES
}
