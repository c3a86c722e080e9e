{{/*
What lies on the control plane where that is this cluster. Rules are those of deploy/rbac in the sources, copied to files/ by `make gen`; here they get the
namespace and the accounts of this release. To another control plane the Job of install.yaml brings the same.
*/}}

{{/* Names of the policies whose rights are needed, as JSON: one that is not enabled any more keeps them as long as it is there, for its clusters are. */}}
{{- define "armadex.policyRights" -}}
{{- concat (include "armadex.policies" . | fromJsonArray) .Values.policyRights (include "armadex.policiesLeft" . | fromJsonArray) | uniq | toJson -}}
{{- end -}}

{{/* Names of the policies that are there and not enabled, as JSON; `armadex install` looks for them itself on a control plane elsewhere. They are looked up once. */}}
{{- define "armadex.policiesLeft" -}}
{{- if not (hasKey . "armadexPoliciesLeft") -}}
{{- $_ := set . "armadexPoliciesLeft" (include "armadex.policiesLookedUp" .) -}}
{{- end -}}
{{- .armadexPoliciesLeft -}}
{{- end -}}

{{- define "armadex.policiesLookedUp" -}}
{{- $left := list -}}
{{- $api := "policy.clusterpedia.io/v1alpha1" -}}
{{- if and (not (include "armadex.elsewhere" .)) (.Capabilities.APIVersions.Has $api) -}}
{{- range $name, $policy := .Values.policies -}}
{{- $found := dict -}}
{{- if not $policy.enabled -}}
{{- $found = lookup $api "ClusterImportPolicy" "" $name -}}
{{- end -}}
{{- if eq (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $found) "armadex" -}}
{{- $left = append $left $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $left -}}
{{- end -}}

{{/* Whether this cluster can be looked at: not empty. It can't be by `helm template`, nor where something else renders the chart. */}}
{{- define "armadex.looks" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}true{{- end -}}
{{- end -}}

{{/* Of these namespaces those that are known not to be there, as JSON: (dict "root" $ "namespaces" LIST). */}}
{{- define "armadex.missing" -}}
{{- $missing := list -}}
{{- /* On a control plane elsewhere whoever installs may have no more than the namespace of the release. */ -}}
{{- if and (not (include "armadex.elsewhere" .root)) (include "armadex.looks" .root) -}}
{{- range .namespaces -}}
{{- if not (lookup "v1" "Namespace" "" .) -}}
{{- $missing = append $missing . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $missing -}}
{{- end -}}

{{/* The namespaces of platforms that are not there yet, as JSON: what is granted in them waits for the next upgrade. */}}
{{- define "armadex.platformsMissing" -}}
{{- $namespaces := list -}}
{{- range include "armadex.sources" . | fromJsonArray -}}
{{- $namespace := default "" .object.metadata.namespace -}}
{{- if and .isPolicy $namespace (not (hasPrefix "armadex-" $namespace)) -}}
{{- $namespaces = append $namespaces $namespace -}}
{{- end -}}
{{- end -}}
{{- include "armadex.missing" (dict "root" . "namespaces" (uniq $namespaces)) -}}
{{- end -}}

{{/* Names of the enabled policies, as JSON. */}}
{{- define "armadex.policies" -}}
{{- $enabled := list -}}
{{- range $name, $policy := .Values.policies -}}
{{- if $policy.enabled -}}
{{- $enabled = append $enabled $name -}}
{{- end -}}
{{- end -}}
{{- toJson $enabled -}}
{{- end -}}

{{/* The subjects of a binding: those of the parts that its annotation names, and of all of them. (dict "root" $ "binding" OBJECT) */}}
{{- define "armadex.subjects" -}}
{{- $root := .root -}}
{{- $has := dig "metadata" "annotations" "armadex.dev/parts" "" .binding -}}
{{- if not $has -}}
{{- fail (printf "files/rbac: the binding %s does not say in its annotation armadex.dev/parts which parts have its role" .binding.metadata.name) -}}
{{- end -}}
{{- range include "armadex.parts" .root | splitList " " }}
{{- if or (eq . "all") (has . (splitList "," $has)) }}
- kind: ServiceAccount
  name: {{ include "armadex.account" (dict "root" $root "part" .) | quote }}
  namespace: {{ include "armadex.controlPlaneNamespace" $root | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The namespaces of members' Secrets, as JSON: those of policies, further ones, and that of Armadex on a control plane elsewhere, where nothing else lies in it. */}}
{{- define "armadex.credentialNamespaces" -}}
{{- $namespaces := ternary (list (include "armadex.controlPlaneNamespace" .)) list (ne (include "armadex.elsewhere" .) "") -}}
{{- concat $namespaces (include "armadex.policyNamespaces" . | fromJsonArray) .Values.controlPlane.credentialNamespaces | uniq | toJson -}}
{{- end -}}

{{/* Those that files of policies grant, as JSON. */}}
{{- define "armadex.policyNamespaces" -}}
{{- $namespaces := list -}}
{{- range include "armadex.sources" . | fromJsonArray -}}
{{- if and .isPolicy (eq .object.kind "RoleBinding") (eq .object.metadata.name "armadex-credentials") -}}
{{- $namespaces = append $namespaces .object.metadata.namespace -}}
{{- end -}}
{{- end -}}
{{- toJson $namespaces -}}
{{- end -}}

{{/* An object of the sources with the release's namespace, accounts and labels: (dict "root" $ "object" OBJECT). */}}
{{- define "armadex.placed" -}}
{{- $object := deepCopy .object -}}
{{- $metadata := $object.metadata -}}
{{- if eq (default "" $metadata.namespace) "clusterpedia-system" -}}
{{- $_ := set $metadata "namespace" (include "armadex.controlPlaneNamespace" .root) -}}
{{- else if eq (default "" $metadata.namespace) "armadex-serving" -}}
{{- $_ := set $metadata "namespace" (include "armadex.servingNamespace" .root) -}}
{{- end -}}
{{- if $object.roleRef -}}
{{- $_ := set $object "subjects" (include "armadex.subjects" (dict "root" .root "binding" $object) | fromYamlArray) -}}
{{- end -}}
{{- if and $object.rules (eq $metadata.name "armadex-registration") -}}
{{- $_ := set $object "rules" (include "armadex.registrationRules" (dict "root" .root "rules" $object.rules) | fromYamlArray) -}}
{{- end -}}
{{- $_ := set $metadata "labels" (merge (include "armadex.labels" .root | fromYaml) (default (dict) $metadata.labels)) -}}
{{- with .root.Values.commonAnnotations -}}
{{- $_ := set $metadata "annotations" (merge (dict) (default (dict) $metadata.annotations) .) -}}
{{- end -}}
{{- toYaml $object -}}
{{- end -}}

{{/* Without what helm makes here: when it has deleted that, a pod that is about to go must not make it anew. A Secret that lies here is none of before, and nobody deletes it. (dict "root" $ "rules" LIST) */}}
{{- define "armadex.registrationRules" -}}
{{- $unused := ternary "delete" "" (eq (include "armadex.servingNamespace" .root) .root.Release.Namespace) }}
{{- range .rules }}
{{- if not (has "services" .resources) }}
{{- $verbs := ternary (without .verbs "create") (without .verbs $unused) (has "apiservices" .resources) }}
- {{ toYaml (merge (dict "verbs" $verbs) .) | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Namespaces of policies that are Armadex's own; those that are a platform's are there already, and so is that of the serving certificate. They stay when the release goes. */}}
{{- define "armadex.namespaces" -}}
{{- range include "armadex.sources" . | fromJsonArray }}
{{- if and .isPolicy (eq .object.kind "Namespace") (hasPrefix "armadex-" .object.metadata.name) }}
{{- $_ := set .object.metadata "annotations" (dict "helm.sh/resource-policy" "keep") }}
---
{{ include "armadex.placed" (dict "root" $ "object" .object) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Roles and bindings. In the namespace of the release lie Secrets that are no member's: nobody may read them but where it is named as one of credentials. */}}
{{- define "armadex.rights" -}}
{{- $missing := include "armadex.platformsMissing" . | fromJsonArray -}}
{{- range include "armadex.sources" . | fromJsonArray }}
{{- $isHomes := and (not .isPolicy) (eq .object.metadata.name "armadex-credentials") }}
{{- if and (has .object.kind (list "Role" "ClusterRole" "RoleBinding" "ClusterRoleBinding")) (not $isHomes) (not (has .object.metadata.namespace $missing)) }}
---
{{ include "armadex.placed" (dict "root" $ "object" .object) }}
{{- end }}
{{- end }}
{{- include "armadex.furtherRights" . }}
{{- end -}}

{{/* The role of credentials and its binding in each further namespace, as `armadex install` has it. */}}
{{- define "armadex.furtherRights" -}}
{{- $policys := include "armadex.policyNamespaces" . | fromJsonArray }}
{{- $sources := include "armadex.sources" . | fromJsonArray }}
{{- range $namespace := .Values.controlPlane.credentialNamespaces }}
{{- range $sources }}
{{- if and (not .isPolicy) (eq .object.metadata.name "armadex-credentials") (not (has $namespace $policys)) }}
{{- $placed := include "armadex.placed" (dict "root" $ "object" .object) | fromYaml }}
{{- $_ := set $placed.metadata "namespace" $namespace }}
---
{{ toYaml $placed }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The CRDs. They stay when the release goes: helm would delete them with the controllers, without whom clusters and policies do not go. */}}
{{- define "armadex.crds" -}}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $crd := $.Files.Get $path | fromYaml }}
{{- $_ := set $crd.metadata "labels" (include "armadex.labels" $ | fromYaml) }}
{{- $_ := set $crd.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") (default (dict) $crd.metadata.annotations) $.Values.commonAnnotations) }}
---
{{ toYaml $crd }}
{{- end }}
{{- end -}}

{{/* The objects of files/rbac that count, as JSON: (object, isPolicy) of our own files, and of the file of each enabled policy. They are read once. */}}
{{- define "armadex.sources" -}}
{{- if not (hasKey . "armadexSources") -}}
{{- $_ := set . "armadexSources" (include "armadex.sourcesRead" .) -}}
{{- end -}}
{{- .armadexSources -}}
{{- end -}}

{{- define "armadex.sourcesRead" -}}
{{- $sources := list -}}
{{- $ours := list "armadex" "registration" -}}
{{- range $name := concat $ours (include "armadex.policyRights" . | fromJsonArray) -}}
{{- range regexSplit "\n---\n" ($.Files.Get (printf "files/rbac/%s.yaml" $name)) -1 -}}
{{- $object := fromYaml . -}}
{{- if $object.kind -}}
{{- $sources = append $sources (dict "object" $object "isPolicy" (not (has $name $ours))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $sources -}}
{{- end -}}
