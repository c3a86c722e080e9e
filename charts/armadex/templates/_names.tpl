{{- define "armadex.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "armadex.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "armadex.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "armadex.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What names the release's objects for ever: selectors can't be changed. */}}
{{- define "armadex.selector" -}}
app.kubernetes.io/name: {{ include "armadex.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "armadex.labels" -}}
{{ include "armadex.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of pods: without the chart's version, which may change without them. */}}
{{- define "armadex.podLabels" -}}
{{ include "armadex.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with merge (dict) .Values.podLabels .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The metadata of an object: (dict "root" $ "name" NAME "component" COMPONENT "labels" MAP "annotations" MAP "isGlobal" BOOL); all but the first two may be missing. */}}
{{- define "armadex.metadata" -}}
name: {{ .name }}
{{- if not .isGlobal }}
namespace: {{ .root.Release.Namespace }}
{{- end }}
labels:
  {{- include "armadex.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "armadex.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where the control plane is another cluster: not empty. */}}
{{- define "armadex.elsewhere" -}}
{{- .Values.controlPlane.kubeconfig.secretName -}}
{{- end -}}

{{/* The namespace of Armadex on the control plane. */}}
{{- define "armadex.controlPlaneNamespace" -}}
{{- if .Values.controlPlane.namespace -}}
{{- .Values.controlPlane.namespace -}}
{{- else if include "armadex.elsewhere" . -}}
clusterpedia-system
{{- else -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* The ServiceAccount of a part in this cluster: (dict "root" $ "part" PART). */}}
{{- define "armadex.account" -}}
{{ include "armadex.fullname" .root }}-{{ .part }}
{{- end -}}

{{/* The Service of the search API. */}}
{{- define "armadex.service" -}}
{{ include "armadex.fullname" . }}-apiserver
{{- end -}}

{{/* The name by which the control plane's apiserver asks, wherever Armadex is: of the Service here, or of the one that the API server makes there. */}}
{{- define "armadex.hostname" -}}
{{- $service := ternary "armadex-apiserver" (include "armadex.service" .) (ne (include "armadex.elsewhere" .) "") -}}
{{ $service }}.{{ include "armadex.controlPlaneNamespace" . }}.svc
{{- end -}}

{{/* By which the control plane's apiserver reaches it: HOST:PORT. */}}
{{- define "armadex.address" -}}
{{- $address := .Values.controlPlane.address | default (printf "%s.%s.svc:%v" (include "armadex.service" .) .Release.Namespace .Values.service.port) -}}
{{- if regexMatch ":[0-9]+$" $address -}}{{ $address }}{{- else -}}{{ $address }}:443{{- end -}}
{{- end -}}

{{/* Whether the store is a server: not empty. */}}
{{- define "armadex.server" -}}
{{- with .Values.store -}}{{ .url }}{{ .urlSecret.name }}{{- end -}}
{{- end -}}

{{- define "armadex.claim" -}}
{{- .Values.store.sqlite.existingClaim | default (printf "%s-store" (include "armadex.fullname" .)) -}}
{{- end -}}

{{/* The Secret whose certificate is served, if it is not Armadex's own. No policy may read one of such a name. */}}
{{- define "armadex.certificateSecret" -}}
{{- if eq .Values.certificates.mode "certManager" -}}
armadex-serving-{{ include "armadex.fullname" . }}
{{- else if eq .Values.certificates.mode "existingSecret" -}}
{{ .Values.certificates.existingSecret }}
{{- end -}}
{{- end -}}

{{/* The workloads, as JSON: the part, the name behind the release's, its replicas, and whether several may run. */}}
{{- define "armadex.workloads" -}}
{{- $values := .Values -}}
{{- $all := list -}}
{{- if eq .Values.mode "all" -}}
{{- $all = append $all (dict "part" "all" "name" "all" "replicas" .Values.all.replicas) -}}
{{- else -}}
{{- $replicas := ternary .Values.apiserver.autoscaling.minReplicas .Values.apiserver.replicas .Values.apiserver.autoscaling.enabled -}}
{{- $all = append $all (dict "part" "apiserver" "name" "apiserver" "replicas" $replicas) -}}
{{- $all = append $all (dict "part" "synchro" "name" "synchro" "replicas" .Values.synchro.replicas "shard" "") -}}
{{- range .Values.synchro.shards -}}
{{- $all = append $all (dict "part" "synchro" "name" (printf "synchro-%s" .) "replicas" $values.synchro.replicas "shard" .) -}}
{{- end -}}
{{- $all = append $all (dict "part" "controllers" "name" "controllers" "replicas" .Values.controllers.replicas) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* The selector of a workload: (dict "root" $ "workload" WORKLOAD). */}}
{{- define "armadex.workloadSelector" -}}
{{ include "armadex.selector" .root }}
app.kubernetes.io/component: {{ .workload.part }}
{{- if hasKey .workload "shard" }}
armadex.dev/shard: {{ .workload.shard | quote }}
{{- end }}
{{- end -}}

{{/* The parts, which have an account each. */}}
{{- define "armadex.parts" -}}
{{- if eq .Values.mode "all" -}}all{{- else -}}apiserver synchro controllers{{- end -}}
{{- end -}}
