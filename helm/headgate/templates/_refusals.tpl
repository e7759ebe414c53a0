{{/*
What values.schema.json cannot say in words that help. Each refusal names the value and what to do.
*/}}
{{- define "headgate.refuse" -}}
{{- include "headgate.refuseOpen" . -}}
{{- include "headgate.refuseConfig" . -}}
{{- include "headgate.refuseTls" . -}}
{{- include "headgate.refuseCluster" . -}}
{{- include "headgate.refuseCallers" . -}}
{{- include "headgate.refusePasswords" . -}}
{{- include "headgate.refuseArgs" . -}}
{{- include "headgate.refuseStop" . -}}
{{- include "headgate.refuseListening" . -}}
{{- include "headgate.refuseObjects" . -}}
{{- include "headgate.refuseVolume" . -}}
{{- end -}}

{{/* The pod's ports are never on loopback alone: neither callers nor probes would arrive. */}}
{{- define "headgate.refuseOpen" -}}
{{- $elsewhere := printf "the server listens on %s for the whole cluster" .Values.server.listenHost -}}
{{- if not (or .Values.insecure .Values.config.access) -}}
{{- fail (printf "config.access is missing: %s, and whoever reaches it could spend any budget and pause all work. Set config.access.callers, with tls.enabled for certificates and tokens; or insecure: true to let everybody in" $elsewhere) -}}
{{- end -}}
{{- if not (or .Values.insecure .Values.networkPolicy.enabled) -}}
{{- fail (printf "networkPolicy.enabled is false: %s, and /metrics is plaintext. Set networkPolicy.enabled: true, and in networkPolicy.callers who may call; or insecure: true where something else keeps others away" $elsewhere) -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseConfig" -}}
{{- $config := .Values.config -}}
{{- if hasKey $config "cluster" -}}
{{- fail "config.cluster: the chart writes it; set cluster.store.existingSecret and what is beside it instead" -}}
{{- end -}}
{{- if hasKey $config "tls" -}}
{{- fail "config.tls: the chart writes it; set tls.enabled and tls.existingSecret instead" -}}
{{- end -}}
{{- $server := default dict $config.server -}}
{{- if hasKey $server "grpc_address" -}}
{{- fail "config.server.grpc_address: in the pod it is always port 8081; set service.grpcPort for the port of the Service, server.listenHost for the address" -}}
{{- end -}}
{{- if hasKey $server "state_dir" -}}
{{- fail "config.server.state_dir: the chart mounts a volume for it; see persistence" -}}
{{- end -}}
{{- if hasKey (default dict $config.access) "token_file" -}}
{{- fail "config.access.token_file: the chart writes it; set tokens.existingSecret instead" -}}
{{- end -}}
{{- if and (not .Values.postgres.existingSecret) (contains "/etc/headgate/dsn/" (toJson $config)) -}}
{{- fail "config names a file in /etc/headgate/dsn, but postgres.existingSecret, which those files come from, is empty" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseTls" -}}
{{- $tls := .Values.tls -}}
{{- $ca := $tls.clientCa -}}
{{- if and $tls.enabled (not (or $tls.existingSecret $tls.csi $tls.certManager.enabled)) -}}
{{- fail "tls.enabled takes tls.existingSecret, the name of a Secret of type kubernetes.io/tls, or tls.certManager.enabled, or tls.csi" -}}
{{- end -}}
{{- if and $tls.csi (or (not $tls.enabled) $tls.existingSecret $tls.certManager.enabled) -}}
{{- fail "tls.csi takes tls.enabled, and neither existingSecret nor certManager.enabled: its volume has the certificate" -}}
{{- end -}}
{{- if and $tls.certManager.enabled (not $tls.enabled) -}}
{{- fail "tls.certManager.enabled takes tls.enabled: the certificate would be for nothing" -}}
{{- end -}}
{{- if and $tls.certManager.enabled $tls.existingSecret -}}
{{- fail "tls: give existingSecret or certManager.enabled, not both: cert-manager would write the Secret that is there" -}}
{{- end -}}
{{- if and $tls.certManager.enabled (not $tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled takes tls.certManager.issuerRef.name: who issues the certificate" -}}
{{- end -}}
{{- if and $tls.existingSecret (not $tls.enabled) -}}
{{- fail "tls.existingSecret is set, but tls.enabled is false: nothing would be encrypted" -}}
{{- end -}}
{{- if and $ca.existingSecret $ca.existingConfigMap -}}
{{- fail "tls.clientCa: give existingSecret or existingConfigMap, not both" -}}
{{- end -}}
{{- if and (include "headgate.mutualTls" .) (not $tls.enabled) -}}
{{- fail "tls.clientCa takes tls.enabled: certificates of callers are asked for over TLS only" -}}
{{- end -}}
{{- if and .Values.tokens.existingSecret (not $tls.enabled) -}}
{{- fail "tokens.existingSecret takes tls.enabled: tokens are refused over plaintext" -}}
{{- end -}}
{{- if and .Values.tokens.existingSecret (not .Values.config.access) -}}
{{- fail "tokens.existingSecret takes config.access.callers, which say what the owner of a token may do" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseCluster" -}}
{{- $cluster := .Values.cluster -}}
{{- if include "headgate.isCluster" . -}}
{{- if not $cluster.secret.existingSecret -}}
{{- fail "cluster.store takes cluster.secret.existingSecret: a Secret with at least 16 random bytes, which servers read each other's states by" -}}
{{- end -}}
{{- if not (and .Values.tls.enabled (include "headgate.mutualTls" .)) -}}
{{- fail "cluster.store takes tls.enabled and tls.clientCa: servers prove to each other who they are by their certificates" -}}
{{- end -}}
{{- if not .Values.config.targets -}}
{{- fail "cluster.store takes config.targets: they are what servers share" -}}
{{- end -}}
{{- if .Values.persistence.enabled -}}
{{- fail "cluster.store takes persistence.enabled: false: debt and overrides are in the store, and several pods cannot share a volume. A throttle log of all servers that outlives them is config.throttle_log.postgres" -}}
{{- end -}}
{{- $lease := include "headgate.seconds" $cluster.lease | float64 -}}
{{- if and $cluster.lease (or (lt $lease 1.0) (gt $lease 60.0)) -}}
{{- fail (printf "cluster.lease: %s, but a server takes 1s to 1m" $cluster.lease) -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.networkPolicy.egress (not .Values.networkPolicy.store) -}}
{{- fail "networkPolicy.egress limits what servers reach: say in networkPolicy.store where cluster.store is" -}}
{{- end -}}
{{- else -}}
{{- if $cluster.secret.existingSecret -}}
{{- fail "cluster.secret takes cluster.store.existingSecret: one server alone has nobody to share it with" -}}
{{- end -}}
{{- if $cluster.store.job.adminSecret -}}
{{- fail "cluster.store.job.adminSecret takes cluster.store.existingSecret: otherwise there is no store" -}}
{{- end -}}
{{- if .Values.networkPolicy.store -}}
{{- fail "networkPolicy.store takes cluster.store.existingSecret: otherwise there is no store" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Callers that nobody could be. What is no list of maps the server refuses. */}}
{{- define "headgate.refuseCallers" -}}
{{- $access := .Values.config.access -}}
{{- $callers := ternary $access dict (kindIs "map" $access) | dig "callers" list -}}
{{- range $caller := ternary $callers list (kindIs "slice" $callers) -}}
{{- if kindIs "map" $caller -}}
{{- if and $caller.certificate (not (include "headgate.mutualTls" $)) -}}
{{- fail (printf "config.access.callers: %v has a certificate, which takes tls.clientCa: without it nobody is asked for one" $caller.name) -}}
{{- end -}}
{{- if and $caller.token (not $.Values.tokens.existingSecret) -}}
{{- fail (printf "config.access.callers: %v has a token, which takes tokens.existingSecret: the Secret with its hash" $caller.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap is for everybody to read who may look into the namespace. */}}
{{- define "headgate.refusePasswords" -}}
{{- $strings := regexFindAll "\"dsn\":\"(?:[^\"\\\\]|\\\\.)*\"" (toJson .Values.config) -1 -}}
{{- range $strings -}}
{{- $dsn := get (fromJson (printf "{%s}" .)) "dsn" -}}
{{- if regexMatch "(?i)password\\s*=|^[a-z]+://[^/?@]*:[^/?@]+@" $dsn -}}
{{- fail "config has a dsn with a password, which would stand in a ConfigMap: put the connection string into a Secret, name that in postgres.existingSecret, and its key by dsn_file: /etc/headgate/dsn/KEY (or the password alone by password_file)" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A flag that is there twice ends the server. */}}
{{- define "headgate.refuseArgs" -}}
{{- $values := dict
  "config" "config"
  "grpc-address" "server.listenHost and service.grpcPort"
  "http-address" "server.listenHost and service.httpPort"
  "health-address" "tls.enabled"
  "state-dir" "persistence"
  "ready-after" "server.readyAfter"
  "log-level" "server.logLevel"
  "log-format" "server.logFormat"
  "if-exposed" "insecure"
  "member" "cluster.store"
  "member-address" "cluster.store" -}}
{{- range .Values.extraEnv -}}
{{- if has (toString .name) (list "HEADGATE_MEMBER" "HEADGATE_MEMBER_ADDRESS") -}}
{{- fail (printf "extraEnv: the chart writes %s; set cluster.store instead" .name) -}}
{{- end -}}
{{- end -}}
{{- $seen := dict -}}
{{- range .Values.extraArgs -}}
{{- $flag := regexFind "[a-z][a-z0-9-]*" . -}}
{{- with get $values $flag -}}
{{- fail (printf "extraArgs: the chart writes --%s; set %s instead" $flag .) -}}
{{- end -}}
{{- if hasKey $seen $flag -}}
{{- fail (printf "extraArgs: --%s is there twice" $flag) -}}
{{- end -}}
{{- if has $flag (list "check-config" "help" "version") -}}
{{- fail (printf "extraArgs: with --%s the server ends at once" $flag) -}}
{{- end -}}
{{- $_ := set $seen $flag true -}}
{{- end -}}
{{- end -}}

{{/* The seconds of a duration such as 1m30s. */}}
{{- define "headgate.seconds" -}}
{{- $seconds := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|[smhd])" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $inSeconds := dict "ms" 0.001 "s" 1 "m" 60 "h" 3600 "d" 86400 -}}
{{- $seconds = addf $seconds (mulf (trimSuffix $unit .) (get $inSeconds $unit)) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/* (list $ flag default): what a flag in extraArgs says, or else its variable in extraEnv. */}}
{{- define "headgate.flagText" -}}
{{- $prefix := printf "--%s=" (index . 1) -}}
{{- $variable := printf "HEADGATE_%s" (index . 1 | upper | replace "-" "_") -}}
{{- $text := index . 2 -}}
{{- $found := false -}}
{{- range (index . 0).Values.extraArgs -}}
{{- if hasPrefix $prefix . -}}
{{- $text = trimPrefix $prefix . -}}
{{- $found = true -}}
{{- end -}}
{{- end -}}
{{- range ternary list (index . 0).Values.extraEnv $found -}}
{{- if eq (toString .name) $variable -}}
{{- if .valueFrom -}}
{{- fail (printf "extraEnv: %s has a value that the chart cannot see; give %sDURATION in extraArgs instead" $variable $prefix) -}}
{{- end -}}
{{- $text = toString .value -}}
{{- end -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- define "headgate.flagSeconds" -}}
{{- include "headgate.flagText" . | include "headgate.seconds" -}}
{{- end -}}

{{/* As long as Services take to hear of a pod that goes. A server alone has nobody who answers meanwhile. */}}
{{- define "headgate.preStop" -}}
{{- ternary "5s" "0s" (include "headgate.isCluster" . | not | not) -}}
{{- end -}}

{{/*
Whole seconds that the server may take to stop. Killed in the middle of it, it would lose the last second. 5 s are
for log and snapshot. One of several hands its targets over first, and is asked for a quarter of a lease by those who
have not heard of it.
*/}}
{{- define "headgate.stopSeconds" -}}
{{- $grace := include "headgate.flagSeconds" (list . "grace" "10s") -}}
{{- $preStop := include "headgate.flagSeconds" (list . "pre-stop" (include "headgate.preStop" .)) -}}
{{- $needs := addf $grace $preStop 5 -}}
{{- if include "headgate.isCluster" . -}}
{{- $needs = addf $needs $grace (divf (default "3s" .Values.cluster.lease | include "headgate.seconds") 4) -}}
{{- end -}}
{{- ceil $needs -}}
{{- end -}}

{{/* As long as the server may take, where nobody has said how long it gets. */}}
{{- define "headgate.gracePeriod" -}}
{{- $said := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $said -}}
{{- max 30 (include "headgate.stopSeconds" . | float64 | int) -}}
{{- else -}}
{{- int $said -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseStop" -}}
{{- $needs := include "headgate.stopSeconds" . -}}
{{- $said := .Values.terminationGracePeriodSeconds -}}
{{- if and (not (kindIs "invalid" $said)) (gt (float64 $needs) (float64 $said)) -}}
{{- fail (printf "terminationGracePeriodSeconds: %v, but with --grace and --pre-stop in extraArgs, or their variables in extraEnv, the server may take %s s to stop" $said $needs) -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseListening" -}}
{{- if regexMatch "^(127\\..*|localhost|\\[?(0*:)+0*1\\]?)$" .Values.server.listenHost -}}
{{- fail (printf "server.listenHost: %s is the pod's own loopback, where neither callers nor probes arrive; 0.0.0.0 or [::] is every address" .Values.server.listenHost) -}}
{{- end -}}
{{- $service := .Values.service -}}
{{- if and $service.externalTrafficPolicy (eq $service.type "ClusterIP") -}}
{{- fail "service.externalTrafficPolicy takes service.type NodePort or LoadBalancer: nothing comes from outside" -}}
{{- end -}}
{{- if and $service.loadBalancerSourceRanges (ne $service.type "LoadBalancer") -}}
{{- fail "service.loadBalancerSourceRanges takes service.type LoadBalancer: nothing else heeds them" -}}
{{- end -}}
{{- if and (ne $service.type "ClusterIP") .Values.networkPolicy.enabled (not .Values.networkPolicy.callers) -}}
{{- fail (printf "networkPolicy.callers is empty: service.type %s is for callers from outside, whom the NetworkPolicy would keep out. Name them, such as ipBlock: {cidr: 10.20.0.0/16}" $service.type) -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseObjects" -}}
{{- if eq (int .Values.service.grpcPort) (int .Values.service.httpPort) -}}
{{- fail "service.grpcPort and service.httpPort are the same port" -}}
{{- end -}}
{{- if and .Values.persistence.existingClaim (not .Values.persistence.enabled) -}}
{{- fail "persistence.existingClaim is set, but persistence.enabled is false: nothing would be kept" -}}
{{- end -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if and $monitor.enabled (gt (include "headgate.seconds" $monitor.scrapeTimeout | float64) (include "headgate.seconds" $monitor.interval | float64)) -}}
{{- fail (printf "serviceMonitor.scrapeTimeout: %s is longer than serviceMonitor.interval, %s, which Prometheus refuses" $monitor.scrapeTimeout $monitor.interval) -}}
{{- end -}}
{{- end -}}

{{/* The bytes of a quantity such as 2Gi. */}}
{{- define "headgate.bytes" -}}
{{- $unit := regexFind "[a-zA-Z]*$" . -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mulf (trimSuffix $unit .) (get $units $unit) -}}
{{- end -}}

{{/*
Beside the throttle log, docs/security.md: a snapshot and the next one, 300 bytes for each permit, and
64 MiB for overrides, buckets and the log's write-ahead log. What the configuration says wrong the
server refuses.
*/}}
{{- define "headgate.refuseVolume" -}}
{{- $log := ternary .Values.config.throttle_log dict (kindIs "map" .Values.config.throttle_log) -}}
{{- $engine := ternary .Values.config.engine dict (kindIs "map" .Values.config.engine) -}}
{{- $most := ternary 0.0 (float64 (default 1073741824 $log.max_bytes)) (hasKey $log "postgres") -}}
{{- $rest := addf 67108864 (mulf 600 (float64 (default 32768 $engine.max_permits))) -}}
{{- $size := include "headgate.bytes" .Values.persistence.size | float64 -}}
{{- if and (not .Values.persistence.existingClaim) (lt $size (addf $most $rest)) -}}
{{- fail (printf "persistence.size: %s is less than the %.0f MiB that config.throttle_log.max_bytes (%.0f MiB) and the snapshot may take" .Values.persistence.size (divf (addf $most $rest) 1048576) (divf $most 1048576)) -}}
{{- end -}}
{{- end -}}
