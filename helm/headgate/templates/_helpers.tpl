{{- define "headgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* A StatefulSet's pods and revisions get a suffix, hence 52 characters. */}}
{{- define "headgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "headgate.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "headgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.labels" -}}
{{- $own := dict "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $chart := printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $_ := set $own "helm.sh/chart" $chart -}}
{{- toYaml (merge $own (fromYaml (include "headgate.selectorLabels" .)) .Values.commonLabels) -}}
{{- end -}}

{{/* (list $ labels): these too. */}}
{{- define "headgate.labelsWith" -}}
{{- toYaml (merge (fromYaml (include "headgate.labels" (index . 0))) (index . 1)) -}}
{{- end -}}

{{/* Without the chart's version: a new one is no reason to restart. */}}
{{- define "headgate.podLabels" -}}
{{- $selector := fromYaml (include "headgate.selectorLabels" .) -}}
{{- toYaml (merge $selector .Values.podLabels .Values.commonLabels) -}}
{{- end -}}

{{- define "headgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "headgate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "headgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "headgate.headless" -}}
{{ include "headgate.fullname" . }}-headless
{{- end -}}

{{/* The Secret with the server's certificate. */}}
{{- define "headgate.tlsSecret" -}}
{{- default (printf "%s-tls" (include "headgate.fullname" .)) .Values.tls.existingSecret -}}
{{- end -}}

{{/* Empty: one server alone, which decides for all its targets. */}}
{{- define "headgate.isCluster" -}}
{{- if .Values.cluster.store.existingSecret -}}true{{- end -}}
{{- end -}}

{{/* Each pod's name stands before it. */}}
{{- define "headgate.headlessHost" -}}
{{ include "headgate.headless" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{/* What a certificate has to be issued for. */}}
{{- define "headgate.host" -}}
{{ include "headgate.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "headgate.podSecurityContext" -}}
runAsNonRoot: true
{{- range $key := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- $id := index $.Values.security $key }}
{{- if not (kindIs "invalid" $id) }}
{{ $key }}: {{ $id }}
{{- end }}
{{- end }}
{{- if not (kindIs "invalid" .Values.security.fsGroup) }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "headgate.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Empty: callers need no certificate. */}}
{{- define "headgate.mutualTls" -}}
{{- if or .Values.tls.clientCa.existingSecret .Values.tls.clientCa.existingConfigMap -}}true{{- end -}}
{{- end -}}

{{/* The section of the configuration. */}}
{{- define "headgate.clusterConfig" -}}
{{- $cluster := .Values.cluster -}}
store:
  dsn_file: /etc/headgate/store/{{ $cluster.store.key }}
secret_file: /etc/headgate/cluster/secret
peer_certificates:
  {{- toYaml (default (list (printf "DNS:%s" (include "headgate.headlessHost" .))) $cluster.peerCertificates) | nindent 2 }}
{{- with $cluster.lease }}
lease: {{ . }}
{{- end }}
{{- with $cluster.onStoreLoss }}
on_store_loss: {{ . }}
{{- end }}
{{- end -}}

{{/* The configuration file: what `config` says, and what only the chart knows. */}}
{{- define "headgate.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.tls.enabled -}}
{{- $tls := dict "certificate_file" "/etc/headgate/tls/tls.crt" "key_file" "/etc/headgate/tls/tls.key" -}}
{{- if include "headgate.mutualTls" . -}}
{{- $_ := set $tls "client_ca_file" "/etc/headgate/client-ca/ca.crt" -}}
{{- $_ := set $tls "client_certificates" .Values.tls.clientCertificates -}}
{{- end -}}
{{- $_ := set $config "tls" $tls -}}
{{- end -}}
{{- if include "headgate.isCluster" . -}}
{{- $_ := set $config "cluster" (include "headgate.clusterConfig" . | fromYaml) -}}
{{- end -}}
{{- if .Values.tokens.existingSecret -}}
{{- $access := default dict $config.access -}}
{{- $_ := set $access "token_file" "/etc/headgate/tokens/tokens" -}}
{{- $_ := set $config "access" $access -}}
{{- end -}}
{{- if $config -}}
{{ toYaml $config }}
{{- else -}}
# No targets, no budgets, no rules: everything is allowed.
{}
{{- end -}}
{{- end -}}

{{/* Whether the test pod is let in to ask for the status, and knows what to verify the server with. */}}
{{- define "headgate.testMayAsk" -}}
{{- $certificate := and (include "headgate.mutualTls" .) .Values.tests.clientSecret -}}
{{- $needsCertificate := and (include "headgate.mutualTls" .) (eq .Values.tls.clientCertificates "REQUIRE") -}}
{{- $isKnown := or (not .Values.config.access) $certificate .Values.tests.tokenSecret -}}
{{- if and $isKnown (not .Values.tls.csi) (or $certificate (not $needsCertificate)) -}}true{{- end -}}
{{- end -}}

{{- define "headgate.grpcurlFlags" -}}
{{- if .Values.tls.enabled -}}
{{- $isRequired := and (include "headgate.mutualTls" .) (eq .Values.tls.clientCertificates "REQUIRE") -}}
-cacert ca.crt -authority {{ include "headgate.host" . }}
{{- if and .Values.tokens.existingSecret (not $isRequired) }} -H "authorization: Bearer $TOKEN"
{{- else if include "headgate.mutualTls" . }} -cert tls.crt -key tls.key{{ end }}
{{- else -}}
-plaintext
{{- end -}}
{{- end -}}

{{- define "headgate.httpPort" -}}
- name: http
  port: {{ .Values.service.httpPort }}
  targetPort: http
  appProtocol: http
{{- end -}}

{{/* What tells the Service with the HTTP port from the others. */}}
{{- define "headgate.httpLabels" -}}
app.kubernetes.io/component: http
{{- end -}}

{{/* (list $ labels): those of the Service with the HTTP port, with these too. */}}
{{- define "headgate.httpServiceLabels" -}}
{{- toYaml (merge (include "headgate.httpLabels" (index . 0) | fromYaml) (include "headgate.labelsWith" . | fromYaml)) -}}
{{- end -}}

{{/* Without TLS it is HTTP/2 in plaintext, which meshes want to be told. */}}
{{- define "headgate.grpcProtocol" -}}
{{ ternary "https" "kubernetes.io/h2c" .Values.tls.enabled }}
{{- end -}}
