{{/*
What values.schema.json cannot say in words that help. Each refusal names the value and what to do.
*/}}
{{- define "headgate.refuse" -}}
{{- include "headgate.refuseConfig" . -}}
{{- include "headgate.refuseTls" . -}}
{{- include "headgate.refuseCallers" . -}}
{{- include "headgate.refuseStop" . -}}
{{- include "headgate.refuseObjects" . -}}
{{- end -}}

{{- define "headgate.refuseConfig" -}}
{{- $config := .Values.config -}}
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
{{- if and $tls.enabled (not $tls.existingSecret) -}}
{{- fail "tls.enabled takes tls.existingSecret: the name of a Secret of type kubernetes.io/tls" -}}
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

{{/* (list $ flag default): the seconds that a flag in extraArgs says. */}}
{{- define "headgate.flagSeconds" -}}
{{- $prefix := printf "--%s=" (index . 1) -}}
{{- $seconds := index . 2 -}}
{{- range (index . 0).Values.extraArgs -}}
{{- if hasPrefix $prefix . -}}
{{- $seconds = 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $seconds = addf $seconds (mulf (trimSuffix $unit .) (get (dict "ms" 0.001 "s" 1 "m" 60 "h" 3600) $unit)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/* Killed in the middle of it, the server would lose the last second. 5 s are for log and snapshot. */}}
{{- define "headgate.refuseStop" -}}
{{- $grace := include "headgate.flagSeconds" (list . "grace" 10) -}}
{{- $preStop := include "headgate.flagSeconds" (list . "pre-stop" 0) -}}
{{- $needs := addf $grace $preStop 5 -}}
{{- if gt $needs (float64 .Values.terminationGracePeriodSeconds) -}}
{{- fail (printf "terminationGracePeriodSeconds: %v, but with --grace and --pre-stop in extraArgs the server may take %v s to stop" .Values.terminationGracePeriodSeconds $needs) -}}
{{- end -}}
{{- end -}}

{{- define "headgate.refuseObjects" -}}
{{- if eq (int .Values.service.grpcPort) (int .Values.service.httpPort) -}}
{{- fail "service.grpcPort and service.httpPort are the same port" -}}
{{- end -}}
{{- if and .Values.persistence.existingClaim (not .Values.persistence.enabled) -}}
{{- fail "persistence.existingClaim is set, but persistence.enabled is false: nothing would be kept" -}}
{{- end -}}
{{- end -}}
