{{/* The program's own check of the configuration, with the flags that the server gets. */}}
{{- define "headgate.checkContainer" -}}
image: {{ include "headgate.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command: [/usr/bin/headgated]
args:
  {{- include "headgate.args" . | nindent 2 }}
  - --check-config=/etc/headgate/config/headgate.yaml
securityContext:
  {{- include "headgate.securityContext" . | nindent 2 }}
resources:
  requests: {cpu: 10m, memory: 64Mi}
  limits: {memory: 128Mi}
{{- end -}}

{{/* (list $ weight): a failed one stays, to be read. */}}
{{- define "headgate.checkHook" -}}
helm.sh/hook: pre-install,pre-upgrade,pre-rollback
helm.sh/hook-weight: {{ index . 1 | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
