{{/* An IPv6 address stands in brackets. */}}
{{- define "headgate.listenHost" -}}
{{- $host := .Values.server.listenHost -}}
{{- ternary (printf "[%s]" $host) $host (and (contains ":" $host) (not (hasPrefix "[" $host))) -}}
{{- end -}}

{{- define "headgate.args" -}}
{{- $host := include "headgate.listenHost" . -}}
- --config=/etc/headgate/config/headgate.yaml
- --grpc-address={{ $host }}:8081
- --http-address={{ $host }}:8080
{{- if .Values.tls.enabled }}
- --health-address={{ $host }}:8082
{{- end }}
- --state-dir=/var/lib/headgate
{{- if and (include "headgate.isCluster" .) (not (include "headgate.flagText" (list . "pre-stop" ""))) }}
# Until the Service has heard that this pod goes, it goes on answering.
- --pre-stop={{ include "headgate.preStop" . }}
{{- end }}
- --ready-after={{ .Values.server.readyAfter }}
- --log-level={{ .Values.server.logLevel }}
- --log-format={{ .Values.server.logFormat }}
- --if-exposed={{ ternary "warn" "refuse" .Values.insecure }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Whether the process answers, whatever it waits for, on a port that callers cannot fill: server.max_connections are
the gRPC port's alone. The kubelet speaks plaintext. Whether the server decides is for readiness: one that is
restarted because its store is away is not there when that is back.
*/}}
{{- define "headgate.isAlive" -}}
{{- if .Values.tls.enabled -}}
grpc:
  port: 8082
  service: liveness
{{- else -}}
httpGet:
  path: /healthz
  port: http
{{- end -}}
{{- end -}}

{{/* Readiness also waits for the first samples. */}}
{{- define "headgate.probes" -}}
startupProbe:
  {{- include "headgate.isAlive" . | nindent 2 }}
  {{- toYaml .Values.probes.startup | nindent 2 }}
livenessProbe:
  {{- include "headgate.isAlive" . | nindent 2 }}
  {{- toYaml .Values.probes.liveness | nindent 2 }}
readinessProbe:
  httpGet:
    path: /readyz
    port: http
  {{- toYaml .Values.probes.readiness | nindent 2 }}
{{- end -}}

{{/* Without a volume the state takes the node's disk, which the scheduler has to know of. */}}
{{- define "headgate.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- $requests := default dict $resources.requests -}}
{{- $limits := default dict $resources.limits -}}
{{- $isSaid := or (hasKey $requests "ephemeral-storage") (hasKey $limits "ephemeral-storage") -}}
{{- if not (or .Values.persistence.enabled $isSaid) -}}
{{- $_ := set $requests "ephemeral-storage" .Values.persistence.size -}}
{{- $_ := set $resources "requests" $requests -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Who this server is among the others, and where they reach it. */}}
{{- define "headgate.member" -}}
- name: HEADGATE_MEMBER
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: HEADGATE_MEMBER_ADDRESS
  value: $(HEADGATE_MEMBER).{{ include "headgate.headlessHost" . }}:8081
{{- end -}}

{{- define "headgate.environment" -}}
{{- $isCluster := include "headgate.isCluster" . -}}
{{- if or $isCluster .Values.extraEnv -}}
env:
  {{- if $isCluster }}
  {{- include "headgate.member" . | nindent 2 }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{ end }}
{{- with .Values.extraEnvFrom -}}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Whole folders, without subPath: only those follow when a ConfigMap or Secret changes. */}}
{{- define "headgate.volumeMounts" -}}
- name: config
  mountPath: /etc/headgate/config
  readOnly: true
- name: state
  mountPath: /var/lib/headgate
{{- if .Values.postgres.existingSecret }}
- name: dsn
  mountPath: /etc/headgate/dsn
  readOnly: true
{{- end }}
{{- if include "headgate.isCluster" . }}
- name: store
  mountPath: /etc/headgate/store
  readOnly: true
- name: cluster
  mountPath: /etc/headgate/cluster
  readOnly: true
{{- end }}
{{- if .Values.tls.enabled }}
- name: tls
  mountPath: /etc/headgate/tls
  readOnly: true
{{- end }}
{{- if include "headgate.mutualTls" . }}
- name: client-ca
  mountPath: /etc/headgate/client-ca
  readOnly: true
{{- end }}
{{- if .Values.tokens.existingSecret }}
- name: tokens
  mountPath: /etc/headgate/tokens
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headgate.volumes" -}}
{{- $ca := .Values.tls.clientCa -}}
- name: config
  configMap:
    name: {{ include "headgate.fullname" . }}
- name: state
  {{- if .Values.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ default (include "headgate.fullname" .) .Values.persistence.existingClaim }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ .Values.persistence.size }}
  {{- end }}
{{- with .Values.postgres.existingSecret }}
- name: dsn
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- if include "headgate.isCluster" . }}
- name: store
  secret:
    secretName: {{ .Values.cluster.store.existingSecret }}
    defaultMode: 0440
- name: cluster
  secret:
    secretName: {{ .Values.cluster.secret.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .Values.cluster.secret.key }}
        path: secret
{{- end }}
{{- if .Values.tls.csi }}
- name: tls
  csi:
    {{- toYaml (merge (dict "readOnly" true) .Values.tls.csi) | nindent 4 }}
{{- else if .Values.tls.enabled }}
- name: tls
  secret:
    secretName: {{ include "headgate.tlsSecret" . }}
    defaultMode: 0440
{{- end }}
{{- if $ca.existingSecret }}
- name: client-ca
  secret:
    secretName: {{ $ca.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ $ca.key }}
        path: ca.crt
{{- else if $ca.existingConfigMap }}
- name: client-ca
  configMap:
    name: {{ $ca.existingConfigMap }}
    items:
      - key: {{ $ca.key }}
        path: ca.crt
{{- end }}
{{- with .Values.tokens }}
{{- if .existingSecret }}
- name: tokens
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .key }}
        path: tokens
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
