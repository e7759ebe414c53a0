{{/* Empty: nobody looks at the tables of the store before servers meet them. */}}
{{- define "headgate.hasStoreJob" -}}
{{- if and (include "headgate.isCluster" .) .Values.cluster.store.job.enabled -}}true{{- end -}}
{{- end -}}

{{/* (list $ action secret key): the program's own command about the tables, as the role of that connection string. */}}
{{- define "headgate.storeContainer" -}}
{{- $root := index . 0 -}}
image: {{ include "headgate.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
command: [/usr/bin/headgated]
args:
  - --store-tables={{ index . 1 }}
  # None of its targets may be the store.
  - --config=/etc/headgate/config/headgate.yaml
env:
  - name: HEADGATE_STORE_DSN
    valueFrom:
      secretKeyRef:
        name: {{ index . 2 }}
        key: {{ index . 3 }}
  {{- with $root.Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $root.Values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "headgate.securityContext" $root | nindent 2 }}
resources:
  requests: {cpu: 10m, memory: 64Mi}
  limits: {memory: 128Mi}
volumeMounts:
  - name: config
    mountPath: /etc/headgate/config
    readOnly: true
  - name: store
    mountPath: /etc/headgate/store
    readOnly: true
  {{- if $root.Values.cluster.store.job.adminSecret }}
  - name: store-admin
    mountPath: /etc/headgate/store-admin
    readOnly: true
  {{- end }}
  {{- if $root.Values.postgres.existingSecret }}
  - name: dsn
    mountPath: /etc/headgate/dsn
    readOnly: true
  {{- end }}
  {{- with $root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
