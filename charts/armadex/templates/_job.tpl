{{/* What `armadex install` and `armadex uninstall` are always told: (dict "root" $ "command" NAME). */}}
{{- define "armadex.installArgs" -}}
{{- $administrator := include "armadex.administrator" .root | fromJson -}}
- {{ .command }}
- --log-format={{ .root.Values.log.format }}
{{- if include "armadex.elsewhere" .root }}
- {{ printf "--kubeconfig=/etc/armadex/control-plane/%s" ($administrator.key | default "kubeconfig") | quote }}
{{- with $administrator.context }}
- {{ printf "--context=%s" . | quote }}
{{- end }}
# By default each release is at home in the same namespace there.
- {{ printf "--release=%s/%s" .root.Release.Namespace .root.Release.Name | quote }}
{{- end }}
- --namespace={{ include "armadex.controlPlaneNamespace" .root }}
# What a pod takes to start, and what is left to say why it is not done before the Job's time is over.
- --timeout={{ sub .root.Values.install.deadlineSeconds 60 }}
{{- end -}}

{{/* Where kubeconfigs are issued to, as `armadex install` and `armadex uninstall` are told. */}}
{{- define "armadex.issuedArg" -}}
- {{ printf "--kubeconfig-secret=%s/%s" .Release.Namespace (include "armadex.issued" .) | quote }}
{{- end -}}

{{/* What `armadex install` is told besides where it issues kubeconfigs, and renews them. */}}
{{- define "armadex.issueArgs" -}}
{{ include "armadex.issuedArg" . }}
{{- /* Values of a release of before, which --reuse-values keeps, say none. */}}
- --token-lifetime={{ .Values.controlPlane.kubeconfig.lifetime | default "168h" }}
{{- end -}}

{{/* What an account may do to these Secrets in this cluster, and to no others: (dict "root" $ "metadata" METADATA "secrets" (dict "names" LIST "verbs" LIST)), METADATA as of "armadex.metadata". */}}
{{- define "armadex.secretRights" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "armadex.metadata" .metadata | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: ["secrets"]
    resourceNames: {{ toJson .secrets.names }}
    verbs: {{ toJson .secrets.verbs }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "armadex.metadata" .metadata | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .metadata.name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ .metadata.name | quote }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}

{{/* Whether it is an upgrade that goes on with an installation of which no pods came: not empty. Where helm sees the Secret that the Jobs need on a control plane elsewhere, it sees what else is there. */}}
{{- define "armadex.isBegunAnew" -}}
{{- $secret := (include "armadex.administrator" . | fromJson).secretName -}}
{{- if and .Release.IsUpgrade (lookup "v1" "Secret" .Release.Namespace $secret) (not (include "armadex.hasControllers" .)) -}}true{{- end -}}
{{- end -}}

{{/* The kubeconfig by which Jobs reach a control plane elsewhere, as JSON. */}}
{{- define "armadex.administrator" -}}
{{- if .Values.install.kubeconfig.secretName -}}
{{- toJson .Values.install.kubeconfig -}}
{{- else -}}
{{- toJson .Values.controlPlane.kubeconfig -}}
{{- end -}}
{{- end -}}

{{/*
The pod of a Job: (dict "root" $ "account" NAME "component" NAME "args" YAML "mounts" LIST). With "token" it may ask the apiserver of this cluster; with "part" it has that part's variables;
with "affinity" it is placed by it.
*/}}
{{- define "armadex.jobPod" -}}
metadata:
  labels:
    {{- include "armadex.podLabels" (dict "root" .root "own" (dict "app.kubernetes.io/component" .component)) | nindent 4 }}
  {{- with merge (dict) .root.Values.podAnnotations .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: Never
  {{- with .account }}
  serviceAccountName: {{ . | quote }}
  {{- end }}
  automountServiceAccountToken: {{ default false .token }}
  {{- include "armadex.podCommon" .root | trim | nindent 2 }}
  {{- with .affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumes:
    {{- include "armadex.volumes" . | nindent 4 }}
  containers:
    - {{- include "armadex.container" (merge (dict "env" (include "armadex.env" (dict "root" .root "part" .part) | trim) "resources" .root.Values.install.resources) .) | nindent 6 }}
{{- end -}}

{{/* Where it is mounted, as JSON: a list of one, or of none. */}}
{{- define "armadex.administratorMounts" -}}
{{- $mounts := list -}}
{{- if include "armadex.elsewhere" . -}}
{{- $secret := (include "armadex.administrator" . | fromJson).secretName -}}
{{- $mounts = append $mounts (include "armadex.secretMount" (list "control-plane" $secret) | fromJson) -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end -}}

{{/* A Job that helm runs: (dict "root" $ "name" NAME "component" NAME "events" EVENTS "weight" NUMBER "deadline" SECONDS "pod" POD). Of an event the Jobs run by weight, which is 0 if nothing is said. */}}
{{- define "armadex.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "armadex.metadata" (dict "root" .root "name" .name "component" .component "annotations" (include "armadex.hook" (dict "events" .events "weight" (int .weight) "isJob" true) | fromYaml)) | nindent 2 }}
spec:
  # Once more, for a node may have been lost: what fails twice is for somebody to mend, and the second log says so as well.
  backoffLimit: 1
  activeDeadlineSeconds: {{ int64 .deadline }}
  template:
    {{- .pod | nindent 4 }}
{{- end -}}

{{/* Annotations of a Job of helm, and of what is there for it: (dict "events" EVENTS "weight" NUMBER "isJob" BOOL). Of one that failed the Job stays, with its log, and no rights. */}}
{{- define "armadex.hook" -}}
helm.sh/hook: {{ .events }}
{{- if eq .events "pre-install" }}
# Argo CD takes what is of an installation alone for a part of each sync: it goes by what is of an upgrade.
argocd.argoproj.io/hook: Skip
{{- end }}
helm.sh/hook-weight: {{ .weight | quote }}
{{- if .isJob }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
# helm prints its log then.
helm.sh/hook-output-log-policy: hook-failed
{{- else }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end }}
{{- end -}}

{{/*
A Job that helm runs with `armadex install` or `uninstall`, and its account: (dict "root" $ "name" NAME "events" EVENTS "args" YAML "verbs" LIST "secrets" (dict "names" LIST "verbs" LIST) "weight" NUMBER). In this cluster it may do
this to the enabled policies, or to these Secrets, and nothing else.
*/}}
{{- define "armadex.installJob" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "armadex.fullname" .root) .name -}}
{{- $annotations := include "armadex.hook" (dict "events" .events "weight" (sub (int .weight) 5)) | fromYaml -}}
{{- $metadata := dict "root" .root "name" $name "component" .name "annotations" $annotations -}}
{{- $isHere := not (include "armadex.elsewhere" .root) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "armadex.metadata" $metadata | nindent 2 }}
automountServiceAccountToken: false
{{- if $isHere }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- include "armadex.metadata" (merge (dict "isGlobal" true) $metadata) | nindent 2 }}
rules:
  - apiGroups: ["policy.clusterpedia.io"]
    resources: ["clusterimportpolicies"]
    resourceNames: {{ include "armadex.policies" $root }}
    verbs: {{ .verbs | toJson }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "armadex.metadata" (merge (dict "isGlobal" true) $metadata) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ $name | quote }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
{{- if .secrets }}
---
{{ include "armadex.secretRights" (dict "root" $root "metadata" $metadata "secrets" .secrets) }}
{{- end }}
---
{{ $mounts := include "armadex.administratorMounts" .root | fromJsonArray -}}
{{- $pod := include "armadex.jobPod" (dict "root" .root "account" $name "component" .name "args" .args "mounts" $mounts "token" (or $isHere (not (empty .secrets)))) -}}
{{ include "armadex.hookJob" (dict "root" .root "name" $name "component" .name "events" .events "weight" .weight "deadline" .root.Values.install.deadlineSeconds "pod" $pod) }}
{{- end -}}
