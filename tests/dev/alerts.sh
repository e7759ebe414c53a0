#!/usr/bin/env bash
# The alert rules are sound, each one has its tests, and the tests hold.
# Watches: helm/headgate/rules/ tests/serve/web/alerts_test.yaml
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
RULES=$ROOT/helm/headgate/rules/headgate.yaml
TESTS=$ROOT/tests/serve/web/alerts_test.yaml
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

if ! command -v promtool >/dev/null; then
  echo "SKIPPED: promtool is missing: apt-get install prometheus"
  exit 77
fi

fail() {
  echo "$1"
  exit 1
}

promtool check rules "$RULES" >"$WORK/check" 2>&1 || fail "$(cat "$WORK/check")"
promtool test rules "$TESTS" >"$WORK/test" 2>&1 || fail "$(cat "$WORK/test")"

mapfile -t alerts < <(sed -n 's/^ *- alert: //p' "$RULES")
for alert in "${alerts[@]}"; do
  for what in fires 'is silent'; do
    grep --quiet --fixed-strings --line-regexp -- "  - name: $alert $what" "$TESTS" ||
      fail "no test that $alert $what"
  done
done

# The tests notice: with rules that never hold, every test that one fires fails.
mkdir -p "$WORK/helm/headgate/rules" "$WORK/tests/serve/web"
cp "$TESTS" "$WORK/tests/serve/web/"
awk '
  /^ *expr: [^|]/ { print "        expr: vector(1) == 2"; next }
  /^ *expr: \|/ { print; print "          vector(1) == 2"; skip = 1; next }
  skip && /^          / { next }
  { skip = 0; print }' "$RULES" >"$WORK/helm/headgate/rules/headgate.yaml"
if promtool test rules "$WORK/tests/serve/web/alerts_test.yaml" >"$WORK/out" 2>&1; then
  fail "the tests pass without the rules"
fi
for alert in "${alerts[@]}"; do
  grep --quiet "exp: {alertname=\"$alert\"}" "$WORK/out" ||
    fail "the test of $alert passes without it: $(head -20 "$WORK/out")"
done

echo "${#alerts[@]} alerts: each fires and is silent where it should"
