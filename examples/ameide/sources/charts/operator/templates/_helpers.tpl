{{- define "operator.name" -}}
{{ .Values.name | default .Release.Name }}
{{- end }}

{{- define "operator.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: {{ include "operator.name" . }}
{{- end }}

{{/* The ServiceAccounts of the operator, each once. */}}
{{- define "operator.serviceAccounts" -}}
{{- $names := list }}
{{- range .Values.deployments }}
{{- $names = append $names (.serviceAccount | default .name) }}
{{- end }}
{{- $names | uniq | sortAlpha | join "," }}
{{- end }}

{{/* The webhooks of a configuration. Arguments: dict "webhooks" list, "namespace" string. */}}
{{- define "operator.webhooks" -}}
{{- range .webhooks }}
- name: {{ .name }}
  admissionReviewVersions: [v1]
  sideEffects: {{ .sideEffects | default "None" }}
  failurePolicy: {{ .failurePolicy | default "Fail" }}
  matchPolicy: Equivalent
  timeoutSeconds: {{ .timeoutSeconds | default 10 }}
  clientConfig:
    service:
      name: {{ .service }}
      namespace: {{ $.namespace }}
      path: {{ .path }}
      port: {{ .port | default 443 }}
  {{- with .namespaceSelector }}
  namespaceSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- toYaml .rules | nindent 4 }}
{{- end }}
{{- end }}
