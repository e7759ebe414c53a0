{{- define "headgate.testLabels" -}}
app.kubernetes.io/name: {{ include "headgate.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.testCommand" -}}
- /usr/bin/headgate
- status
- --address={{ include "headgate.host" . }}:{{ .Values.service.grpcPort }}
- --timeout=10s
{{- if .Values.tls.enabled }}
- --tls
- --tls-ca=/etc/headgate/ca/ca.crt
{{- end }}
{{- if and .Values.tests.clientSecret (include "headgate.mutualTls" .) }}
- --tls-cert=/etc/headgate/client/tls.crt
- --tls-key=/etc/headgate/client/tls.key
{{- end }}
{{- if .Values.tests.tokenSecret }}
- --token-file=/etc/headgate/token/token
{{- end }}
{{- end -}}

{{- define "headgate.testMounts" -}}
{{- $mounts := list -}}
{{- if .Values.tls.enabled -}}{{- $mounts = append $mounts "ca" -}}{{- end -}}
{{- if and .Values.tests.clientSecret (include "headgate.mutualTls" .) -}}{{- $mounts = append $mounts "client" -}}{{- end -}}
{{- if .Values.tests.tokenSecret -}}{{- $mounts = append $mounts "token" -}}{{- end -}}
{{- range $mounts }}
- name: {{ . }}
  mountPath: /etc/headgate/{{ . }}
  readOnly: true
{{- else }}
[]
{{- end }}
{{- end -}}

{{- define "headgate.testVolumes" -}}
{{- if .Values.tls.enabled }}
- name: ca
  secret:
    secretName: {{ include "headgate.tlsSecret" . }}
    defaultMode: 0440
    items:
      - key: {{ .Values.tests.caKey }}
        path: ca.crt
{{- end }}
{{- if and .Values.tests.clientSecret (include "headgate.mutualTls" .) }}
- name: client
  secret:
    secretName: {{ .Values.tests.clientSecret }}
    defaultMode: 0440
{{- end }}
{{- if .Values.tests.tokenSecret }}
- name: token
  secret:
    secretName: {{ .Values.tests.tokenSecret }}
    defaultMode: 0440
    items:
      - key: {{ .Values.tests.tokenKey }}
        path: token
{{- end }}
{{- end -}}
