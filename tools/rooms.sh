# The house: which rooms there are, in which wing each of them is, and who may include and link whom.
# shellcheck shell=bash

# The wings of server/, and the wings below that each may use: nothing in a wing knows one above or beside it.
# shellcheck disable=SC2034
WINGS='
serve     share govern observe remember decide
govern    observe remember decide
share     observe remember decide
observe   remember decide
remember  decide
decide
'

# Who may include and link whom, besides itself. A room of server/ has its wing before its name, and is meant by its name
# alone on the right. A new room gets a line here, and says in the comment at the top of its CMakeLists.txt what
# it is for.
# shellcheck disable=SC2034
ARROWS='
proto
common
decide/engine       common
decide/line         common engine
decide/approximate  common engine
remember/sqlite     common
remember/throttle_log common engine line sqlite
remember/overrides  common engine sqlite
remember/snapshot   common engine
observe/health      common engine
observe/control     common engine health
observe/agents      common control
observe/dsn         common
observe/postgres    common health throttle_log dsn
share/cluster       common
share/membership    common engine cluster snapshot
share/store         common cluster overrides postgres
govern/access       common engine
govern/config       common engine health access dsn proto
govern/tls          common config
serve/transport     common proto
serve/rpc           common engine line approximate health agents access cluster config throttle_log overrides snapshot tls transport proto
serve/peers         common proto engine approximate access cluster transport rpc
serve/json          common proto
serve/http          common access transport
serve/gateway       common proto access transport rpc json http
serve/web           common engine line health agents access config throttle_log overrides snapshot tls transport http
server/app          common server
server/main.cc      common server
client/scheduling   common
client/agent        common scheduling
client/proxy/wire   common
client/proxy        common wire
client              common proto
'

# ARROWS with whole paths: a room a line, and after it all that it may use, itself among them.
room_paths() {
  awk '
    { $1 = $1 ~ /^[a-z]+\// && $1 !~ /^(server|client)\// ? "server/" $1 : $1 }
    NF { lines[++count] = $0; name = $1; sub(/.*\//, "", name); path[name] = $1 }
    END {
      for (i = 1; i <= count; i++) {
        words = split(lines[i], word, " ")
        line = word[1] " " word[1]
        for (j = 2; j <= words; j++) line = line " " (word[j] in path ? path[word[j]] : word[j])
        print line
      }
    }' <<<"$ARROWS"
}

# The rooms of a wing, as their folders are called.
rooms_of_wing() { sed -n "s|^$1/\([a-z_]*\) .*|\1|p" <<<"$ARROWS"; } # rooms_of_wing WING

wings() { awk 'NF { print $1 }' <<<"$WINGS"; }

# Each arrow of ARROWS that leads from one wing into another which WINGS does not let it use.
arrows_against_wings() {
  awk -v wings="$WINGS" '
    BEGIN {
      count = split(wings, rows, "\n")
      for (i = 1; i <= count; i++) {
        words = split(rows[i], word, " ")
        for (j = 1; j <= words; j++) may[word[1], word[j]] = 1
        if (words) is_wing[word[1]] = 1
      }
    }
    function wing_of(path,   part) { return split(path, part, "/") == 3 && part[2] in is_wing ? part[2] : "" }
    {
      from = wing_of($1)
      for (i = 2; from != "" && i <= NF; i++) {
        to = wing_of($i)
        if ($i == "server" || to != "" && !((from, to) in may)) print $1 " may not use " $i ": the wing " from " is not above it"
      }
    }'  < <(room_paths)
}
