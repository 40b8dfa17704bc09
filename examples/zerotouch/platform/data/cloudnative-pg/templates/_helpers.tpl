{{- define "cloudnative-pg.fullname" -}}
{{ .Release.Name }}-cloudnative-pg
{{- end }}

{{- define "cloudnative-pg.selector" -}}
app.kubernetes.io/name: cloudnative-pg
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cloudnative-pg.labels" -}}
{{ include "cloudnative-pg.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
