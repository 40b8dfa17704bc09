{{- define "service.name" -}}
{{ .Values.name | default .Release.Name }}
{{- end }}

{{- define "service.labels" -}}
app.kubernetes.io/name: {{ include "service.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.component }}
app.kubernetes.io/part-of: {{ .Values.partOf }}
{{- end }}

{{- define "service.selector" -}}
app.kubernetes.io/name: {{ include "service.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "service.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}

{{/* Environment of the server and of its worker. */}}
{{- define "service.env" -}}
{{- with .Values.database }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ . }}-app
      key: uri
{{- end }}
{{- range .Values.secretEnv }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
{{- end }}

{{- define "service.hasEnv" -}}
{{- if or .Values.database .Values.secretEnv }}true{{ end }}
{{- end }}

{{- define "service.envFrom" -}}
- configMapRef:
    name: {{ include "service.name" . }}-config
{{- end }}

{{/* What the pods of the server and of its worker share. */}}
{{- define "service.podDefaults" -}}
serviceAccountName: {{ include "service.name" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "service.mounts" -}}
{{- if .Values.files }}
- name: files
  mountPath: {{ .Values.filesPath }}
  readOnly: true
{{- end }}
{{- range .Values.secretMounts }}
- name: secret-{{ .secret }}
  mountPath: {{ .path }}
  readOnly: true
{{- end }}
{{- range .Values.hostPaths }}
- name: {{ .name }}
  mountPath: {{ .path }}
  readOnly: true
{{- end }}
{{- with .Values.persistence }}
- name: data
  mountPath: {{ .path }}
{{- end }}
{{- end }}

{{- define "service.volumes" -}}
{{- if .Values.files }}
- name: files
  configMap:
    name: {{ include "service.name" . }}-files
{{- end }}
{{- range .Values.secretMounts }}
- name: secret-{{ .secret }}
  secret:
    secretName: {{ .secret }}
{{- end }}
{{- range .Values.hostPaths }}
- name: {{ .name }}
  hostPath:
    path: {{ .path }}
{{- end }}
{{- if and .Values.persistence (ne .Values.kind "StatefulSet") }}
- name: data
  persistentVolumeClaim:
    claimName: {{ include "service.name" . }}-data
{{- end }}
{{- end }}

{{- define "service.claimSpec" -}}
accessModes: [ReadWriteOnce]
storageClassName: {{ .Values.persistence.storageClass | default .Values.global.storageClass }}
resources:
  requests:
    storage: {{ .Values.persistence.size }}
{{- end }}
