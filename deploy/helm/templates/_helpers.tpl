{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end }}

{{/* The account of deploy/kubernetes/rbac.yaml, whose rights are the cluster's; without machines in this cluster one without any. */}}
{{- define "berth.account" -}}
{{ if .Values.machines.inCluster }}berth-gateway{{ else }}{{ .Release.Name }}{{ end }}
{{- end }}

{{/* The config map that the catalogue is in; empty where the image's own is taken. */}}
{{- define "berth.catalogue" -}}
{{ if .Values.catalogue.configMap }}{{ .Values.catalogue.configMap }}{{ else if .Values.catalogue.files }}{{ .Release.Name }}-catalogue{{ end }}
{{- end }}

{{- define "berth.host" -}}
{{ first (splitList ":" (urlParse .).host) }}
{{- end }}

{{/* Called with directPorts. */}}
{{- define "berth.lastDirectPort" -}}
{{ sub (add .first .count) 1 }}
{{- end }}

{{/* Old gateways end before new ones begin where their version is another one. */}}
{{- define "berth.strategy" -}}
{{- $strategy := .Values.strategy -}}
{{- if eq $strategy "auto" -}}
{{- $strategy = "RollingUpdate" -}}
{{- with lookup "apps/v1" "Deployment" .Release.Namespace .Release.Name -}}
{{- if ne (first .spec.template.spec.containers).image (include "berth.image" $) -}}
{{- $strategy = "Recreate" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $strategy -}}
{{- end }}

{{/* Documents of a file of deploy/, with this release's namespace in place of theirs. Called with a list: the root, and the path. */}}
{{- define "berth.documents" -}}
{{- $root := first . -}}
{{- $namespace := $root.Release.Namespace -}}
{{- range splitList "\n---\n" ($root.Files.Get (last .)) }}
{{- $object := fromYaml . }}
{{- if ne $object.kind "Namespace" }}
{{- if hasKey $object.metadata "namespace" }}
{{- $_ := set $object.metadata "namespace" $namespace }}
{{- end }}
{{- range $object.subjects }}
{{- $_ := set . "namespace" $namespace }}
{{- end }}
{{- range (dig "spec" "matchConditions" list $object) }}
{{- $_ := set . "expression" (replace "system:serviceaccount:berth:" (printf "system:serviceaccount:%s:" $namespace) .expression) }}
{{- end }}
{{- $_ := set $object.metadata "labels" (fromYaml (include "berth.labels" $root)) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}
