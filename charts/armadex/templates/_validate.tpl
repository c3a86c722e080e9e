{{/* What no schema can say: values that do not go together, each with the way out. */}}
{{- define "armadex.validate" -}}
{{- $store := .Values.store -}}
{{- $server := include "armadex.server" . -}}
{{- if and (eq .Values.mode "parts") (not $server) -}}
{{- fail "mode: parts needs a PostgreSQL or MySQL: name it in store.url or store.urlSecret.name. Parts in several pods can't share a SQLite file; with one use mode: all" -}}
{{- end -}}
{{- if and (eq .Values.mode "all") (not $server) (gt (int .Values.all.replicas) 1) -}}
{{- fail "all.replicas: a SQLite file is for one pod. For several name a PostgreSQL or MySQL in store.url or store.urlSecret.name" -}}
{{- end -}}
{{- if and $store.url $store.urlSecret.name -}}
{{- fail "store.url and store.urlSecret.name: the store is one of them" -}}
{{- end -}}
{{- range $field, $url := dict "store.url" $store.url "store.read.url" $store.read.url "store.migration.url" $store.migration.url -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@" $url -}}
{{- fail (printf "%s has a password in it, which everybody would see who may look at pods: put it into a Secret and name that in passwordSecret.name beside it" $field) -}}
{{- end -}}
{{- end -}}
{{- if and $store.passwordSecret.name (not $server) -}}
{{- fail "store.passwordSecret.name: a SQLite file has no password. Name a server in store.url" -}}
{{- end -}}
{{- if and $store.tlsSecretName (not $server) -}}
{{- fail "store.tlsSecretName: a SQLite file has no server. Name one in store.url" -}}
{{- end -}}
{{- if and $store.read.url (eq .Values.mode "all") -}}
{{- fail "store.read.url: with mode: all everything is in one process, which writes. Use mode: parts" -}}
{{- end -}}
{{- if and $store.migration.enabled (not (or $store.migration.url $store.url)) -}}
{{- fail "store.migration.enabled: name the server in store.migration.url" -}}
{{- end -}}
{{- if and $store.sqlite.emptyDir $store.sqlite.existingClaim -}}
{{- fail "store.sqlite.emptyDir and store.sqlite.existingClaim: the file lies in one of them" -}}
{{- end -}}
{{- if and .Values.synchro.shards (eq .Values.mode "all") -}}
{{- fail "synchro.shards: with mode: all there is one synchro. Use mode: parts" -}}
{{- end -}}
{{- if and .Values.apiserver.autoscaling.enabled (eq .Values.mode "all") -}}
{{- fail "apiserver.autoscaling.enabled: with mode: all there is no API server apart. Use mode: parts" -}}
{{- end -}}
{{- with .Values.controlPlane -}}
{{- if and .kubeconfig.apart (or (ne $.Values.mode "parts") (not .kubeconfig.secretName)) -}}
{{- fail "controlPlane.kubeconfig.apart: it is for mode: parts and a control plane whose kubeconfig is in controlPlane.kubeconfig.secretName" -}}
{{- end -}}
{{- if and .subject (or .kubeconfig.apart (not .kubeconfig.secretName)) -}}
{{- fail "controlPlane.subject: it says who the one kubeconfig of all parts is of. Name that in controlPlane.kubeconfig.secretName, without apart" -}}
{{- end -}}
{{- end -}}
{{- if not (include "armadex.elsewhere" .) -}}
{{- if .Values.install.kubeconfig.secretName -}}
{{- fail "install.kubeconfig.secretName: the control plane is this cluster as long as controlPlane.kubeconfig.secretName is empty: name the kubeconfig by which Armadex runs there" -}}
{{- end -}}
{{- if and .Values.controlPlane.namespace (ne .Values.controlPlane.namespace .Release.Namespace) -}}
{{- fail (printf "controlPlane.namespace: where the control plane is this cluster, Armadex is at home in the namespace of the release, %s. Leave it empty, or install into %s" .Release.Namespace .Values.controlPlane.namespace) -}}
{{- end -}}
{{- if .Values.controlPlane.address -}}
{{- fail "controlPlane.address: where the control plane is this cluster, its apiserver reaches Armadex by the Service. For another cluster name its kubeconfig in controlPlane.kubeconfig.secretName" -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.certificates.mode "existingSecret") (not .Values.certificates.existingSecret) -}}
{{- fail "certificates.existingSecret: with certificates.mode: existingSecret name the Secret" -}}
{{- end -}}
{{- if and (eq .Values.certificates.mode "certManager") (not .Values.certificates.certManager.issuerRef.name) -}}
{{- fail "certificates.certManager.issuerRef.name: with certificates.mode: certManager name an issuer" -}}
{{- end -}}
{{- end -}}
