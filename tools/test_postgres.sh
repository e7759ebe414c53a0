# For shell tests that need a PostgreSQL, with a folder $WORK and a function `fail`, as tools/test_server.sh has:
# start_postgres makes one that listens in $WORK/postgres, to which PGHOST, PGUSER and PGDATABASE lead. POSTGRES_OPTIONS
# are the server's, such as `-c max_connections=10`. A test that starts it stops it.
# shellcheck shell=bash

postgres_bin() {
  if [[ -n ${HEADGATE_POSTGRES:-} ]]; then
    echo "$HEADGATE_POSTGRES/bin"
  else
    find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort --version-sort | tail --lines=1
  fi
}

# PostgreSQL refuses to run as root.
as_postgres() {
  if ((EUID == 0)); then runuser -u postgres -- "$@"; else "$@"; fi
}

POSTGRES=
start_postgres() {
  local bin
  bin=$(postgres_bin)
  chmod 755 "$WORK"
  mkdir "$WORK/postgres"
  if ((EUID == 0)); then chown postgres "$WORK/postgres"; fi
  as_postgres "$bin/initdb" --pgdata "$WORK/postgres/data" --username postgres --auth trust --no-sync \
    >"$WORK/initdb.log" 2>&1 || fail "initdb: $(<"$WORK/initdb.log")"
  POSTGRES=$bin/pg_ctl
  as_postgres "$POSTGRES" start --wait --silent --pgdata "$WORK/postgres/data" --log "$WORK/postgres/log" \
    --options "-c listen_addresses= -c unix_socket_directories=$WORK/postgres -c fsync=off ${POSTGRES_OPTIONS:-}" ||
    fail "PostgreSQL: $(<"$WORK/postgres/log")"
  export PGHOST=$WORK/postgres PGUSER=postgres PGDATABASE=postgres
}

stop_postgres() {
  [[ -n $POSTGRES ]] || return 0
  as_postgres "$POSTGRES" stop --silent --mode immediate --pgdata "$WORK/postgres/data" || true
}
