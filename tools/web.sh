# The page in client/web: built into server/serve/web/page, from where the server embeds it, and its tests.
# shellcheck shell=bash

WEB=client/web
WEB_BUILT=server/serve/web/page

# What npm has installed, where Node looks for it. Status 77: there is no Node, or it is too old.
require_web() {
  require_tool web || return
  [[ -L $WEB/node_modules ]] || rm -rf "$WEB/node_modules"
  ln -sfn "$TOOLS/web/node_modules" "$WEB/node_modules"
}

# build_web FOLDER
build_web() { node "$WEB/build.mjs" "$1"; }

# The types are those of openapi.json, which build_web takes them from.
check_web_types() { (cd "$WEB" && node_modules/.bin/tsc --project .); }

# Whoever builds the server takes what is committed: it has to be what the sources make, byte for byte.
check_web() {
  local fresh status=0
  require_web || return
  fresh=$(mktemp --directory)
  build_web "$fresh" && check_web_types && node "$WEB/circles.mjs" && diff --recursive --brief "$fresh" "$WEB_BUILT" || status=1
  rm -r "$fresh"
  ((status == 0)) || say "$WEB_BUILT is not what $WEB makes, its types are wrong, or its files import each other: ./dev web"
  return "$status"
}

# test_web [ARGUMENT...]: vitest's arguments. Takes HEADGATE_BIN, and a PostgreSQL that PGHOST leads to.
test_web() { (cd "$WEB" && HEADGATE_CHROMIUM=${HEADGATE_CHROMIUM:-/usr/bin/chromium} node_modules/.bin/vitest run "$@"); }
