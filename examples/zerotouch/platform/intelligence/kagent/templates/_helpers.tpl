{{- define "kagent.fullname" -}}
{{ .Release.Name }}
{{- end }}

{{/* Arguments: root, component. */}}
{{- define "kagent.selector" -}}
app.kubernetes.io/name: kagent
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "kagent.labels" -}}
{{ include "kagent.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}
