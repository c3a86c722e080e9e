{{- define "armadex.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Of a Service's name, which begins with it, it takes what such a name may be: without dots, and with a letter first. */}}
{{- define "armadex.fullname" -}}
{{- $name := include "armadex.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full = .Values.fullnameOverride | default $full | replace "." "-" -}}
{{- regexReplaceAll "^([0-9])" $full "r${1}" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* What names the release's objects for ever: selectors can't be changed. */}}
{{- define "armadex.selector" -}}
app.kubernetes.io/name: {{ include "armadex.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels of all objects. No value changes those of the chart. */}}
{{- define "armadex.labels" -}}
{{- $own := include "armadex.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- merge $own .Values.commonLabels | toYaml -}}
{{- end -}}

{{/* Labels of pods: without the chart's version, which may change without them. (dict "root" $ "own" MAP) */}}
{{- define "armadex.podLabels" -}}
{{- $own := merge (include "armadex.selector" .root | fromYaml) .own -}}
{{- $_ := set $own "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- merge $own .root.Values.podLabels .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/* The metadata of an object: (dict "root" $ "name" NAME "component" COMPONENT "labels" MAP "annotations" MAP "isGlobal" BOOL); all but the first two may be missing. */}}
{{- define "armadex.metadata" -}}
{{- $labels := merge (dict) (default (dict) .labels) (include "armadex.labels" .root | fromYaml) -}}
{{- with .component -}}
{{- $_ := set $labels "app.kubernetes.io/component" . -}}
{{- end -}}
{{- $metadata := dict "name" .name "labels" $labels -}}
{{- if not .isGlobal -}}
{{- $_ := set $metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations -}}
{{- $_ := set $metadata "annotations" . -}}
{{- end -}}
{{- toYaml $metadata -}}
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

{{/* Where the control plane is another cluster: not empty. It is the Secret with the kubeconfig by which Armadex runs there, or what those of the parts begin with. */}}
{{- define "armadex.elsewhere" -}}
{{- .Values.controlPlane.kubeconfig.secretName | default (include "armadex.issued" .) -}}
{{- end -}}

{{/* The same where Armadex issues that kubeconfig itself, by the administrator's: not empty then. */}}
{{- define "armadex.issued" -}}
{{- if and .Values.install.kubeconfig.secretName (not .Values.controlPlane.kubeconfig.secretName) -}}
{{ include "armadex.fullname" . }}-control-plane
{{- end -}}
{{- end -}}

{{/* Where each part has an account, a kubeconfig and a Secret of its own: not empty. */}}
{{- define "armadex.apart" -}}
{{- if or .Values.controlPlane.kubeconfig.apart (and (include "armadex.issued" .) (eq .Values.mode "parts")) -}}true{{- end -}}
{{- end -}}

{{/* The Secret with the kubeconfig of a part: (dict "root" $ "part" PART). */}}
{{- define "armadex.kubeconfigSecret" -}}
{{ include "armadex.elsewhere" .root }}{{- if include "armadex.apart" .root -}}-{{ .part }}{{- end -}}
{{- end -}}

{{/* All of those that Armadex issues in this mode, as JSON. */}}
{{- define "armadex.issuedSecrets" -}}
{{- $secrets := list -}}
{{- range include "armadex.parts" . | splitList " " -}}
{{- $secrets = append $secrets (include "armadex.kubeconfigSecret" (dict "root" $ "part" .)) -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end -}}

{{/* Those that it has issued in any mode, as JSON. */}}
{{- define "armadex.everIssuedSecrets" -}}
{{- $secret := include "armadex.issued" . -}}
{{- list $secret (printf "%s-apiserver" $secret) (printf "%s-synchro" $secret) (printf "%s-controllers" $secret) | toJson -}}
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

{{/* That of its serving certificate there. */}}
{{- define "armadex.servingNamespace" -}}
{{- if .Values.controlPlane.servingNamespace -}}
{{- .Values.controlPlane.servingNamespace -}}
{{- else if include "armadex.elsewhere" . -}}
armadex-serving
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

{{/* The workloads, as JSON: the part, the name behind the release's, its replicas, which of API servers that follow the load are the most there may be. */}}
{{- define "armadex.workloads" -}}
{{- $values := .Values -}}
{{- $all := list -}}
{{- if eq .Values.mode "all" -}}
{{- $all = append $all (dict "part" "all" "name" "all" "replicas" .Values.all.replicas) -}}
{{- else -}}
{{- $all = append $all (dict "part" "apiserver" "name" "apiserver" "replicas" (ternary .Values.apiserver.autoscaling.maxReplicas .Values.apiserver.replicas .Values.apiserver.autoscaling.enabled)) -}}
{{- $all = append $all (dict "part" "synchro" "name" "synchro" "replicas" .Values.synchro.replicas "shard" "") -}}
{{- range .Values.synchro.shards -}}
{{- $all = append $all (dict "part" "synchro" "name" (printf "synchro-%s" .) "replicas" $values.synchro.replicas "shard" .) -}}
{{- end -}}
{{- $all = append $all (dict "part" "controllers" "name" "controllers" "replicas" .Values.controllers.replicas) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Whether controllers of the release are there, of whatever name, mode and store it was: not empty. Their workloads are known by labels, for they are called after all of that. */}}
{{- define "armadex.hasControllers" -}}
{{- /* StatefulSets only then: whoever installs a release that has none may not list them. */ -}}
{{- or (include "armadex.controllersOf" (dict "root" . "kind" "Deployment")) (include "armadex.controllersOf" (dict "root" . "kind" "StatefulSet")) -}}
{{- end -}}

{{/* Whether a workload of this kind is one: (dict "root" $ "kind" KIND). */}}
{{- define "armadex.controllersOf" -}}
{{- range dig "items" list (lookup "apps/v1" .kind .root.Release.Namespace "") -}}
{{- $labels := dig "metadata" "labels" dict . -}}
{{- if and (eq (get $labels "app.kubernetes.io/instance") $.root.Release.Name) (has (get $labels "app.kubernetes.io/component") (list "all" "controllers")) -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The number that a Deployment says, if any: (dict "root" $ "workload" WORKLOAD). Of API servers that follow the load it is the autoscaler's to say, and one that stood here would be put in its place at each
rendering, and at a rollback the one of then. Where helm alone has said one before, which it takes back otherwise, that is as many as run; and so where it puts a number that is not said any more to one whoever
has changed it, as without server-side apply.
*/}}
{{- define "armadex.replicas" -}}
{{- if and (eq .workload.part "apiserver") .root.Values.apiserver.autoscaling.enabled -}}
{{- $running := lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-apiserver" (include "armadex.fullname" .root)) -}}
{{- $isSaid := false -}}
{{- $isScaled := false -}}
{{- $isApplied := false -}}
{{- range dig "metadata" "managedFields" list $running -}}
{{- if hasKey (dig "fieldsV1" "f:spec" dict .) "f:replicas" -}}
{{- $isSaid = true -}}
{{- $isScaled = or $isScaled (eq (dig "subresource" "" .) "scale") -}}
{{- end -}}
{{- $isApplied = or $isApplied (and (eq (dig "operation" "" .) "Apply") (not (dig "subresource" "" .))) -}}
{{- end -}}
{{- if and $isSaid (not (and $isScaled $isApplied)) -}}
{{- max .root.Values.apiserver.autoscaling.minReplicas (dig "spec" "replicas" 0 $running) -}}
{{- end -}}
{{- else -}}
{{- .workload.replicas -}}
{{- end -}}
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
