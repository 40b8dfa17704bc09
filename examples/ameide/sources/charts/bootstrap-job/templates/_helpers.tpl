{{- define "bootstrap-job.name" -}}
{{ .Values.name | default .Release.Name }}
{{- end }}

{{- define "bootstrap-job.labels" -}}
app.kubernetes.io/name: {{ include "bootstrap-job.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: bootstrap
app.kubernetes.io/part-of: ameide
{{- end }}

{{/* The pod of the Job and of the CronJob. Arguments: dict "root" context, "command" list. */}}
{{- define "bootstrap-job.pod" -}}
{{- $v := .root.Values }}
restartPolicy: OnFailure
serviceAccountName: {{ include "bootstrap-job.name" .root }}
{{- with $v.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: bootstrap
    image: {{ $v.image }}
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop: [ALL]
    command:
      {{- toYaml .command | nindent 6 }}
    {{- if or $v.env $v.secretEnv .optionalSecret }}
    env:
      {{- range $key, $value := $v.env }}
      - name: {{ $key }}
        value: {{ tpl ($value | toString) $.root | quote }}
      {{- end }}
      {{- range $v.secretEnv }}
      - name: {{ .name }}
        valueFrom:
          secretKeyRef:
            name: {{ .secret }}
            key: {{ .key }}
      {{- end }}
      {{- with .optionalSecret }}
      - name: {{ .name }}
        valueFrom:
          secretKeyRef:
            name: {{ .secret }}
            key: {{ .key }}
            optional: true
      {{- end }}
    {{- end }}
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
    {{- if or $v.files $v.secretMounts }}
    volumeMounts:
      {{- if $v.files }}
      - name: files
        mountPath: /bootstrap
        readOnly: true
      {{- end }}
      {{- range $v.secretMounts }}
      - name: secret-{{ .secret }}
        mountPath: {{ .path }}
        readOnly: true
      {{- end }}
    {{- end }}
{{- if or $v.files $v.secretMounts }}
volumes:
  {{- if $v.files }}
  - name: files
    configMap:
      name: {{ include "bootstrap-job.name" .root }}-files
  {{- end }}
  {{- range $v.secretMounts }}
  - name: secret-{{ .secret }}
    secret:
      secretName: {{ .secret }}
  {{- end }}
{{- end }}
{{- end }}
