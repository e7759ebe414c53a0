#!/usr/bin/env bash
# The lines of docs/security.md that make a token, as they stand there: the caller that uses it is let
# in, one without it is not, and the last line of a rotation shuts the old one out.
# Watches: docs/security.md server/govern/access/
# Needs: headgated headgate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=tools/test_server.sh
source tools/test_server.sh

if ! command -v openssl >/dev/null; then
  echo "SKIPPED: there is no openssl"
  exit 77
fi

ROOT=$PWD
cd "$WORK"

# make_token FILE: by the guide's two lines, which write to sre.token.
lines=$(grep --extended-regexp '^    (openssl rand|printf .sre sha256)' "$ROOT/docs/security.md")
[[ $(wc -l <<<"$lines") == 2 ]] || fail "the guide does not say in two lines how to make a token"
make_token() {
  bash -euo pipefail -c "$lines"
  mv sre.token "$1"
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt \
  -days 1 -subj /CN=test -addext "subjectAltName=IP:127.0.0.1" 2>openssl.log ||
  { cat openssl.log; fail "no certificate"; }
make_token first.token
cat >headgate.yaml <<YAML
tls: {certificate_file: $WORK/tls.crt, key_file: $WORK/tls.key}
access:
  token_file: $WORK/tokens
  callers:
    - {name: on-call, token: sre, identities: ["*"], status: true}
YAML
"$HEADGATE_BIN/headgated" --check-config headgate.yaml >check.log 2>&1 || { cat check.log; fail "refused"; }

start_server

# ask ARGUMENT...: a Check by the command line.
ask() {
  HEADGATE_ADDRESS=$ADDRESS "$HEADGATE_BIN/headgate" check etl --timeout 60s --tls --tls-ca tls.crt "$@" >answer 2>&1
}

ask --token-file first.token || { cat answer log; fail "the token is refused"; }
if ask; then fail "somebody without a token is let in"; fi
grep --quiet 'it takes a token' answer || { cat answer; fail "no word of a token"; }

make_token second.token
within 120 ask --token-file second.token || { cat answer log; fail "the second token is refused"; }
ask --token-file first.token || { cat answer log; fail "the first token is refused before it is gone"; }

tail --lines=1 tokens >next
mv next tokens
is_shut_out() { ! ask --token-file "$1"; }
within 120 is_shut_out first.token || fail "a token that was taken away still opens"
ask --token-file second.token || { cat answer log; fail "the second token went with the first"; }
for token in first second; do
  if grep --quiet --file="$token.token" log; then fail "a token is in the log"; fi
done

echo "tokens: made by the guide's lines, let in, rotated and shut out"
