{{- define "prometheus.operatorLabels" -}}
app: kube-prometheus-stack-operator
app.kubernetes.io/name: prometheus-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: prometheus-operator
app.kubernetes.io/part-of: kube-prometheus-stack
{{- end }}
