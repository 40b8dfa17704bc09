{{- define "vault.labels" -}}
app.kubernetes.io/name: vault
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: vault
{{- end }}

{{- define "vault.injectorLabels" -}}
app.kubernetes.io/name: vault-agent-injector
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: vault
{{- end }}
