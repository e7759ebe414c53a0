#!/usr/bin/env bash
# certificates.sh FOLDER: what scenarios with TLS need, made anew with openssl, good for a day:
#   ca.crt                     the authority of all that follow but the last
#   server.crt, server.key     for localhost, headgate.example and 127.0.0.1
#   client.crt, client.key     URI:spiffe://test/jobs/etl
#   second.crt, second.key     URI:spiffe://test/jobs/second
#   other-ca.crt               an authority that has signed nothing here
set -euo pipefail
cd "$1"

authority() { # authority NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" \
    -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

signed() { # signed NAME ALTERNATIVE_NAMES
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -addext "subjectAltName=$2" \
    -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -copy_extensions copy \
    -out "$1.crt" 2>/dev/null
  rm "$1.csr"
}

authority ca
authority other-ca
signed server DNS:localhost,DNS:headgate.example,IP:127.0.0.1
signed client URI:spiffe://test/jobs/etl
signed second URI:spiffe://test/jobs/second
