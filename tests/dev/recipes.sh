#!/usr/bin/env bash
# The recipes in docs/recipes do what they say: each example there runs as it stands, against a real server
# and a real PostgreSQL. It is held back, it reports all it was given, and its work is done.
#
# A block whose first line is a comment with a file's name is that file.
# Watches: docs/recipes/ tests/recipes/ client/python/ client/cli/run/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "$*"; }
# shellcheck source=tools/tools.sh
source tools/tools.sh
# shellcheck source=tools/test_server.sh
source tools/test_server.sh
# shellcheck source=tools/test_postgres.sh
source tools/test_postgres.sh

skip_without require_tool recipes
skip_without require_tool python_sdk
for program in curl ruby; do
  command -v "$program" >/dev/null || { echo "SKIPPED: $program is not installed" && exit 77; }
done
FIXTURES=$PWD/tests/recipes
ROWS=200

# --- what the recipes run against ---

clean_up() {
  local recipe
  for recipe in $(jobs -p); do kill "$recipe" 2>/dev/null || true; done
  stop_postgres
  stop_server || true
  rm -rf "$WORK"
}
trap clean_up EXIT

# Who is held back asks again and is counted, as nobody waits in the server. One chunk fits into a burst, a
# second one has to come more than a second later: so slow is no machine.
write_configuration() {
  mkdir "$WORK/state"
  cat >"$WORK/headgate.yaml" <<YAML
server: {line: {max_waiting: 0}, state_dir: $WORK/state}
targets: [{name: main}]
budgets:
  - {name: rows, rate: 25, burst: 60, split: {depth: 3}}
  - {name: models, rate: 0.5, burst: 1.5}
  - {name: tasks, rate: 1, burst: 1.5}
rules:
  - {name: rows, match: {identity: backfill}, charge: [rows]}
  - {name: models, match: {identity: dbt}, charge: [models]}
  - {name: tasks, match: {identity: airflow}, charge: [tasks]}
YAML
}

# With time for an answer that a busy machine does not use up.
headgate() { "$HEADGATE_BIN/headgate" --timeout 60s "$@"; }

sql() { psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --command "$1"; }

# --- what is in the documentation ---

extract_recipes() {
  awk -v folder="$WORK/app" '
    /^```/ { inside = !inside; file = ""; begins = inside; next }
    begins {
      begins = 0
      if ($0 ~ /^# [a-z0-9_\/]+\.(py|sh|rb)$/) {
        file = folder "/" $2
        path = file
        sub(/\/[^\/]*$/, "", path)
        system("mkdir -p " path)
      }
    }
    file != "" { print > file }' docs/recipes/*.md
}

# What is written in Python looks as the rest of it does. What a framework calls has the framework's names,
# and no types.
check_style() {
  local ruff=$TOOLS/python_sdk/bin/ruff settings=$PWD/client/python/pyproject.toml
  "$ruff" format --diff --quiet --config "$settings" "$WORK/app" "$FIXTURES" || fail "format, see above"
  "$ruff" check --quiet --config "$settings" --ignore ANN,ARG,RUF012,I001 "$WORK/app" "$FIXTURES" ||
    fail "style, see above"
}

# --- what came of a recipe ---

# was_throttled WHO ALLOWED: at least so many of its Checks were allowed, and some were denied.
was_throttled() {
  local allowed denied
  read -r allowed denied < <(headgate log "$1" --top -o json | "$PYTHON" "$FIXTURES/counts.py")
  ((denied > 0)) || fail "$1 was never held back, and allowed $allowed times: $(<"$SAID")"
  ((allowed >= $2)) || fail "$1 was allowed only $allowed times: $(<"$SAID")"
}

# Reports go in the background, within a moment.
all_is_reported() {
  within 120 no_permit_is_out || fail "permits are not reported: $(headgate log --top)"
}
no_permit_is_out() { headgate status | grep '^permits outstanding 0;' >"$WORK/permits"; }

fill_orders() {
  sql "CREATE TABLE orders (id int PRIMARY KEY, net int, tax int, total int);
    INSERT INTO orders SELECT id, id, 1 FROM generate_series(1, $ROWS) id"
}

totals_are_there() { # totals_are_there TABLE
  local wrong
  wrong=$(sql "SELECT count(*) FROM $1 WHERE total IS DISTINCT FROM net + tax")
  [[ $wrong == 0 && $(sql "SELECT count(*) FROM $1") == "$ROWS" ]] || fail "$wrong rows of $1 are not as they should be"
}

run() { (cd "$WORK/app" && "$@") >"$SAID" 2>&1 || fail "$*: $(<"$SAID")"; }

# --- the recipes ---

recipe_sqlalchemy() {
  fill_orders
  run "$PYTHON" backfill.py
  totals_are_there orders
  was_throttled sqlalchemy:fill-total:backfill 4
}

recipe_psycopg() {
  fill_orders
  run "$PYTHON" backfill_psycopg.py
  totals_are_there orders
  was_throttled psycopg:fill-total:backfill 4
}

recipe_django() {
  cp -r "$FIXTURES/django/." "$WORK/app"
  export DJANGO_SETTINGS_MODULE=shop_settings
  run "$PYTHON" -m django migrate orders 0002
  sql "INSERT INTO orders_order (net, tax) SELECT id, 1 FROM generate_series(1, $ROWS) id"
  run "$PYTHON" -m django migrate
  totals_are_there orders_order
  was_throttled django:fill-total:backfill 4
}

recipe_celery() {
  local worker
  fill_orders
  cp "$FIXTURES/celery/"*.py "$WORK/app"
  mkdir "$WORK/app/queue" "$WORK/app/results"
  (cd "$WORK/app" && exec "$PYTHON" -m celery --app tasks worker --pool prefork --concurrency 2 \
    --without-gossip --without-mingle --without-heartbeat) >"$WORK/worker.log" 2>&1 &
  worker=$!
  # shellcheck disable=SC2064
  trap "kill $worker 2>/dev/null || true" EXIT
  run "$PYTHON" send_tasks.py "$ROWS"
  kill "$worker"
  wait "$worker" || fail "the worker ended with $?: $(<"$WORK/worker.log")"
  totals_are_there orders
  was_throttled celery:fill-total:backfill 4
}

recipe_dbt() {
  local models
  cp -r "$FIXTURES/dbt" "$WORK/dbt"
  (cd "$WORK/dbt" && "$PYTHON" "$WORK/app/throttled_dbt.py" run --profiles-dir . --threads 2) >"$SAID" 2>&1 ||
    fail "dbt: $(<"$SAID")"
  models=$(sql "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'orders\_of\_%'")
  ((models == 4)) || fail "dbt made $models tables: $(<"$SAID")"
  was_throttled dbt 4
}

recipe_airflow() {
  cp "$FIXTURES/airflow/"*.py "$WORK/app"
  run "$PYTHON" run_operators.py
  was_throttled airflow 4
}

recipe_shell() {
  follows_advice shell_rows_after
  fill_orders
  run bash backfill.sh
  totals_are_there orders
  was_throttled curl:fill-total:backfill 4
}

# What it makes of advice, which the server here has none of: this much after 100 rows, for each scale.
follows_advice() { # follows_advice COMMAND...: prints the rows after a scale
  local scale expected rows
  while read -r scale expected; do
    rows=$(cd "$WORK/app" && "$@" "$scale") || fail "$*: $rows"
    [[ $rows == "$expected" ]] || fail "$* $scale: $rows rows after 100, and not $expected"
  done <<'ADVICE'
none 100
1.5 150
16 200
0.0625 6
6.25e-05 1
ADVICE
}

shell_rows_after() {
  local answer='{"decision":{"permit_id":"1"}}'
  if [[ $1 != none ]]; then answer='{"decision":{"permit_id":"1","chunk_scale":'$1'}}'; fi
  eval "$(sed -n '/^next_size() {/,/^}/p' backfill.sh)"
  next_size 100 "$answer"
}

ruby_rows_after() {
  local decision='{}'
  if [[ $1 != none ]]; then decision='{"chunk_scale":'$1'}'; fi
  ruby -r./headgate.rb -e 'job = Headgate.new("job", rows: 100, url: ""); job.rows; job.take(JSON.parse(ARGV[0])); puts job.rows' \
    "$decision"
}

recipe_ruby() {
  follows_advice ruby_rows_after
  fill_orders
  cp "$FIXTURES/ruby/run_task.rb" "$WORK/app"
  run ruby run_task.rb
  totals_are_there orders
  was_throttled ruby:fill-total:backfill 4
}

# Its checks charge nothing, so the log has none of them. The pause ends once it is waited for.
recipe_freno() {
  local client
  fill_orders
  headgate pause freno:fill-total:backfill --for 1h --actor test --reason 'to be waited for' >"$SAID"
  (cd "$WORK/app" && exec bash freno_client.sh) >"$SAID" 2>&1 &
  client=$!
  # shellcheck disable=SC2064
  trap "kill $client 2>/dev/null || true" EXIT
  within 120 is_held_back || fail "freno's client was never held back: $(<"$SAID")"
  headgate resume freno:fill-total:backfill --actor test --reason 'it waits' >"$WORK/resumed"
  wait "$client" || fail "freno's client ended with $?: $(<"$SAID")"
  totals_are_there orders
}
is_held_back() { grep --quiet '^held back before row 1$' "$SAID"; }

# run_recipe NAME: in a shell and a database of its own.
run_recipe() {
  trap - EXIT
  SAID=$WORK/$1.said PGDATABASE=$1 DATABASE_URL="postgresql://postgres@/$1?host=$PGHOST"
  began=$SECONDS
  "recipe_$1"
  say "$1: $((SECONDS - began)) s"
}

export HEADGATE_ADDRESS HEADGATE_URL DATABASE_URL DBT_SEND_ANONYMOUS_USAGE_STATS=false DO_NOT_TRACK=1
export PYTHONPATH=$PWD/client/python
PYTHON=$(tool_path recipes)
read -r -a recipes <<<"${RECIPES:-sqlalchemy psycopg django celery dbt airflow shell ruby freno}"
mkdir "$WORK/app"
extract_recipes
check_style
write_configuration
start_server
HEADGATE_ADDRESS=$ADDRESS HEADGATE_URL=http://$HTTP_ADDRESS
start_postgres
running=()
for recipe in "${recipes[@]}"; do
  sql "CREATE DATABASE $recipe"
  (run_recipe "$recipe") &
  running+=($!)
done
for recipe in "${running[@]}"; do wait "$recipe" || fail "a recipe, see above"; done
all_is_reported
echo "${#recipes[@]} recipes ran, were held back, and reported"
