{{/* What no schema can say: values that do not go together, each with the way out. */}}
{{- define "armadex.validate" -}}
{{- include "armadex.validateUrls" . -}}
{{- include "armadex.validateStore" . -}}
{{- include "armadex.validateService" . -}}
{{- include "armadex.validateMode" . -}}
{{- include "armadex.validateArgs" . -}}
{{- include "armadex.validateAutoscaling" . -}}
{{- include "armadex.validateControlPlane" . -}}
{{- include "armadex.validatePolicies" . -}}
{{- include "armadex.validateCertificates" . -}}
{{- include "armadex.validateNetworks" . -}}
{{- include "armadex.validateMonitoring" . -}}
{{- include "armadex.validateLabels" . -}}
{{- end -}}

{{- define "armadex.validateStore" -}}
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
{{- if and $store.passwordSecret.name (not $server) -}}
{{- fail "store.passwordSecret.name: a SQLite file has no password. Name a server in store.url" -}}
{{- end -}}
{{- if and $store.tlsSecretName (not $server) -}}
{{- fail "store.tlsSecretName: a SQLite file has no server. Name one in store.url" -}}
{{- end -}}
{{- if and $store.read.url (eq .Values.mode "all") -}}
{{- fail "store.read.url: with mode: all everything is in one process, which writes. Use mode: parts" -}}
{{- end -}}
{{- if and $store.read.passwordSecret.name (not $store.read.url) -}}
{{- fail "store.read.passwordSecret.name: nothing is searched by it. Name the replica in store.read.url" -}}
{{- end -}}
{{- if and $store.migration.enabled (not (or $store.migration.url $store.url)) -}}
{{- fail "store.migration.enabled: name the server in store.migration.url" -}}
{{- end -}}
{{- if and (or $store.migration.url $store.migration.passwordSecret.name) (not $store.migration.enabled) -}}
{{- fail "store.migration.url and store.migration.passwordSecret.name: no Job migrates by them. Say store.migration.enabled: true, or leave them out" -}}
{{- end -}}
{{- if and $store.sqlite.emptyDir $store.sqlite.existingClaim -}}
{{- fail "store.sqlite.emptyDir and store.sqlite.existingClaim: the file lies in one of them" -}}
{{- end -}}
{{- end -}}

{{/* A password in a URL: between a colon and the last `@` before any parameters, whatever is in it, or as a parameter. HOST:PORT/DATABASE?... with an `@` behind it is none. */}}
{{- define "armadex.validateUrls" -}}
{{- $store := .Values.store -}}
{{- range $field, $url := dict "store.url" $store.url "store.read.url" $store.read.url "store.migration.url" $store.migration.url -}}
{{- $isPort := regexMatch "^[a-z]+://[^/@?:]*:[0-9]+(/[^@?]*)?(\\?|$)" $url -}}
{{- $isBeforeHost := and (regexMatch "^[a-z]+://[^/@?]*:.*@" $url) (not $isPort) -}}
{{- if or $isBeforeHost (regexMatch "(?i)[?&][^=&]*password[^=&]*=" $url) -}}
{{- fail (printf "%s has a password in it, which everybody would see who may look at pods: put it into a Secret and name that in passwordSecret.name beside it" $field) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the Service would be made without. */}}
{{- define "armadex.validateService" -}}
{{- with .Values.service -}}
{{- if and .nodePort (eq .type "ClusterIP") -}}
{{- fail "service.nodePort: with service.type: ClusterIP the Service has none. Say NodePort or LoadBalancer" -}}
{{- end -}}
{{- if and (or .loadBalancerClass .loadBalancerSourceRanges) (ne .type "LoadBalancer") -}}
{{- fail (printf "service.loadBalancerClass and service.loadBalancerSourceRanges: with service.type: %s there is no load balancer. Say LoadBalancer, or who may reach the API in networkPolicy.apiFrom" .type) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is said of a part that does not run is taken by none. What values.yaml does not say somebody has meant. */}}
{{- define "armadex.validateMode" -}}
{{- range include "armadex.idle" . | fromJsonArray -}}
{{- if .isMeant -}}
{{- fail .words -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is said of parts that do not run and is not as in values.yaml, as JSON: words, and whether somebody must have meant it. A number may be the default of a release of before, which --reuse-values keeps. */}}
{{- define "armadex.idle" -}}
{{- $values := .Values -}}
{{- $idle := list -}}
{{- $defaults := .Files.Get "files/values.yaml" | fromYaml -}}
{{- $others := ternary (list "apiserver" "synchro" "controllers") (list "all") (eq .Values.mode "all") -}}
{{- range $part := $others -}}
{{- range $key, $default := omit (get $defaults $part) "shutdownDelaySeconds" -}}
{{- $said := get (get $values $part) $key -}}
{{- if ne (toJson $said) (toJson $default) -}}
{{- $isMeant := and $said (not $default) -}}
{{- if eq $key "autoscaling" -}}
{{- $isMeant = (default dict $said).enabled -}}
{{- end -}}
{{- $way := ternary (printf "Use mode: parts, or say it in all.%s if there is such a value" $key) "Use mode: all, or say it of apiserver, synchro or controllers" (ne $part "all") -}}
{{- $words := printf "%s.%s: with mode: %s there is no such workload. %s" $part $key $values.mode $way -}}
{{- $idle = append $idle (dict "words" $words "isMeant" (not (not $isMeant))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $idle -}}
{{- end -}}

{{/* Flags that are said by the chart: a second time they would be an error of the program, or a password that everybody sees. */}}
{{- define "armadex.validateArgs" -}}
{{- $root := . -}}
{{- range $workload := include "armadex.workloads" . | fromJsonArray -}}
{{- $own := include "armadex.ownArgs" (dict "root" $root "workload" $workload) -}}
{{- range $field, $args := dict "store" $root.Values.store.extraArgs $workload.part (get $root.Values $workload.part).extraArgs -}}
{{- range $args -}}
{{- $flag := splitList "=" . | first -}}
{{- if regexMatch "password|^--(store|read-store)$" $flag -}}
{{- fail (printf "%s.extraArgs: %s is said by store.url, store.read.url and the passwordSecret beside each, so that no password is seen by whoever may look at pods" $field $flag) -}}
{{- end -}}
{{- if regexMatch (printf "(?m)^- \"?%s(=|\"?$)" (regexQuoteMeta $flag)) $own -}}
{{- fail (printf "%s.extraArgs: %s is said by the chart itself. Look for the value that has it in values.yaml" $field $flag) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of a small request what Armadex needs when nobody asks is more than the target, and there would always be as many as may be. */}}
{{- define "armadex.validateAutoscaling" -}}
{{- with .Values.apiserver -}}
{{- if and .autoscaling.enabled (eq $.Values.mode "parts") -}}
{{- if lt (int .autoscaling.maxReplicas) (int .autoscaling.minReplicas) -}}
{{- fail (printf "apiserver.autoscaling.maxReplicas: %v is fewer than minReplicas, %v" .autoscaling.maxReplicas .autoscaling.minReplicas) -}}
{{- end -}}
{{- $cpu := dig "requests" "cpu" "" .resources | toString -}}
{{- $milli := ternary (trimSuffix "m" $cpu | float64) (mulf (float64 $cpu) 1000) (hasSuffix "m" $cpu) -}}
{{- if lt (float64 $milli) 500.0 -}}
{{- fail "apiserver.resources.requests.cpu: with apiserver.autoscaling.enabled it is what the load is measured by. Request 500m or more" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "armadex.validateControlPlane" -}}
{{- with .Values.controlPlane -}}
{{- if and .kubeconfig.apart (or (ne $.Values.mode "parts") (not .kubeconfig.secretName)) -}}
{{- fail "controlPlane.kubeconfig.apart: it is for mode: parts and a control plane whose kubeconfig is in controlPlane.kubeconfig.secretName. Where Armadex issues kubeconfigs itself, parts always have one each" -}}
{{- end -}}
{{- if and .subject (or .kubeconfig.apart (not .kubeconfig.secretName)) -}}
{{- fail "controlPlane.subject: it says who the one kubeconfig of all parts is of. Name that in controlPlane.kubeconfig.secretName, without apart" -}}
{{- end -}}
{{- $isAdministrators := or (not $.Values.install.kubeconfig.secretName) (eq $.Values.install.kubeconfig.secretName .kubeconfig.secretName) -}}
{{- if and .kubeconfig.secretName $.Values.install.enabled $isAdministrators (not .kubeconfig.asAdministrator) -}}
{{- fail "install.kubeconfig.secretName: name a Secret with an administrator's kubeconfig of the control plane, for the Jobs alone; Armadex issues itself another one if controlPlane.kubeconfig.secretName is empty, and runs by the one that it names otherwise (README, \"On Karmada\"). To try things, controlPlane.kubeconfig.asAdministrator: true lets Armadex run as the administrator" -}}
{{- end -}}
{{- end -}}
{{- with .Values.install.kubeconfig -}}
{{- if and (not .secretName) (or .context (ne (.key | default "kubeconfig") "kubeconfig")) -}}
{{- fail "install.kubeconfig.key and context: they are of the Secret that install.kubeconfig.secretName names, and it names none. Name it, or say them of that in controlPlane.kubeconfig" -}}
{{- end -}}
{{- if and .secretName $.Values.controlPlane.kubeconfig.secretName (not $.Values.install.enabled) -}}
{{- fail "install.kubeconfig.secretName: it is for the Jobs, and with install.enabled: false there are none. Say install.enabled: true, or install.kubeconfig.secretName: \"\"" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.install.removePolicies (not .Values.install.enabled) -}}
{{- fail "install.removePolicies: a Job does that, and with install.enabled: false there is none, so policies and their clusters would stay. Say install.enabled: true, or install.removePolicies: false, and delete them yourself before you uninstall" -}}
{{- end -}}
{{- $lifetime := .Values.controlPlane.kubeconfig.lifetime | default "168h" -}}
{{- if and (ne $lifetime "168h") (not (include "armadex.issued" .)) -}}
{{- fail (printf "controlPlane.kubeconfig.lifetime: %s is said of tokens that Armadex issues itself, and it issues none. Name an administrator's kubeconfig in install.kubeconfig.secretName and none in controlPlane.kubeconfig.secretName, or take the lifetime back: --set controlPlane.kubeconfig.lifetime=null" $lifetime) -}}
{{- end -}}
{{- include "armadex.validateServing" . -}}
{{- if not (include "armadex.elsewhere" .) -}}
{{- include "armadex.validateHere" . -}}
{{- else if include "armadex.issued" . -}}
{{- include "armadex.validateIssued" . -}}
{{- end -}}
{{- end -}}

{{/* Where Armadex issues its kubeconfigs itself. */}}
{{- define "armadex.validateIssued" -}}
{{- with .Values.controlPlane.kubeconfig -}}
{{- if not $.Values.install.enabled -}}
{{- fail "install.enabled: without its Jobs nobody issues a kubeconfig by that of install.kubeconfig.secretName. Name the Secret with one that you have made in controlPlane.kubeconfig.secretName" -}}
{{- end -}}
{{- if .asAdministrator -}}
{{- fail "controlPlane.kubeconfig.asAdministrator: Armadex has a kubeconfig of its own here, which it issues itself. To run as the administrator name that Secret in controlPlane.kubeconfig.secretName" -}}
{{- end -}}
{{- if or .context (ne (.key | default "kubeconfig") "kubeconfig") -}}
{{- fail "controlPlane.kubeconfig.key and context: they are of the Secret that controlPlane.kubeconfig.secretName names. Those of the administrator's are install.kubeconfig.key and context" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whoever reads the Secret of the serving certificate can pass for Armadex. That of a release here, where it lies if nothing is said, may be named for credentials: the notes tell it. */}}
{{- define "armadex.validateServing" -}}
{{- with .Values.controlPlane.servingNamespace -}}
{{- if has . (include "armadex.credentialNamespaces" $ | fromJsonArray) -}}
{{- fail (printf "controlPlane.servingNamespace: others read the Secrets of %s, and whoever reads that of the serving certificate can pass for Armadex: name a namespace that is for it alone" .) -}}
{{- end -}}
{{- range include "armadex.missing" (dict "root" $ "namespaces" (list .)) | fromJsonArray -}}
{{- if ne . $.Release.Namespace -}}
{{- fail (printf "controlPlane.servingNamespace: there is no namespace %s. Make it first: kubectl create namespace %s" . .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where the control plane is this cluster. */}}
{{- define "armadex.validateHere" -}}
{{- if regexMatch "^(default|kube-.*)$" .Release.Namespace -}}
{{- fail (printf "the namespace of the release is %s, which others use too. Where the control plane is this cluster, Armadex has its own: --namespace clusterpedia-system --create-namespace" .Release.Namespace) -}}
{{- end -}}
{{- if .Values.install.takeOver -}}
{{- fail "install.takeOver: where the control plane is this cluster, it is helm that makes what another Armadex has: say --take-ownership --force-conflicts to it (helm 3: the first alone)" -}}
{{- end -}}
{{- if or .Values.controlPlane.kubeconfig.context (ne (.Values.controlPlane.kubeconfig.key | default "kubeconfig") "kubeconfig") -}}
{{- fail "controlPlane.kubeconfig.key and context: they are of the Secret that controlPlane.kubeconfig.secretName names, and it names none, so this cluster would be the control plane. Name it" -}}
{{- end -}}
{{- if .Values.controlPlane.kubeconfig.asAdministrator -}}
{{- fail "controlPlane.kubeconfig.asAdministrator: where the control plane is this cluster, Armadex has accounts of its own. For another one name an administrator's kubeconfig of it in install.kubeconfig.secretName" -}}
{{- end -}}
{{- if and .Values.controlPlane.namespace (ne .Values.controlPlane.namespace .Release.Namespace) -}}
{{- fail (printf "controlPlane.namespace: where the control plane is this cluster, Armadex is at home in the namespace of the release, %s. Leave it empty, or install into %s" .Release.Namespace .Values.controlPlane.namespace) -}}
{{- end -}}
{{- if .Values.controlPlane.address -}}
{{- fail "controlPlane.address: where the control plane is this cluster, its apiserver reaches Armadex by the Service. For another cluster name an administrator's kubeconfig of it in install.kubeconfig.secretName" -}}
{{- end -}}
{{- range include "armadex.missing" (dict "root" . "namespaces" .Values.controlPlane.credentialNamespaces) | fromJsonArray -}}
{{- if ne . $.Release.Namespace -}}
{{- fail (printf "controlPlane.credentialNamespaces: there is no namespace %s. Make it first: kubectl create namespace %s" . .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A policy whose clusters' credentials lie nowhere that may be read brings nothing in. */}}
{{- define "armadex.validatePolicies" -}}
{{- $needing := ternary (list "cluster-api" "vcluster") (list "cluster-api" "kubeconfig" "vcluster") (ne (include "armadex.elsewhere" .) "") -}}
{{- range include "armadex.policies" . | fromJsonArray -}}
{{- if and (has . $needing) (not $.Values.controlPlane.credentialNamespaces) -}}
{{- fail (printf "policies.%s.enabled: name the namespaces of the control plane in which the clusters' credentials lie in controlPlane.credentialNamespaces" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "armadex.validateCertificates" -}}
{{- with .Values.certificates -}}
{{- if and (eq .mode "existingSecret") (not .existingSecret) -}}
{{- fail "certificates.existingSecret: with certificates.mode: existingSecret name the Secret" -}}
{{- end -}}
{{- if and .existingSecret (ne .mode "existingSecret") -}}
{{- fail (printf "certificates.existingSecret: with certificates.mode: %s nobody serves it. Say certificates.mode: existingSecret, or leave it out" .mode) -}}
{{- end -}}
{{- if and .certManager.issuerRef.name (ne .mode "certManager") -}}
{{- fail (printf "certificates.certManager.issuerRef.name: with certificates.mode: %s nobody asks it. Say certificates.mode: certManager, or leave it out" .mode) -}}
{{- end -}}
{{- if eq .mode "certManager" -}}
{{- if not .certManager.issuerRef.name -}}
{{- fail "certificates.certManager.issuerRef.name: with certificates.mode: certManager name an issuer" -}}
{{- end -}}
{{- $duration := include "armadex.milliseconds" .certManager.duration | int64 -}}
{{- $renewBefore := include "armadex.milliseconds" .certManager.renewBefore | int64 -}}
{{- if lt $duration (include "armadex.milliseconds" "1h" | int64) -}}
{{- fail (printf "certificates.certManager.duration: %s is less than the hour that cert-manager takes" .certManager.duration) -}}
{{- end -}}
{{- if lt $renewBefore (include "armadex.milliseconds" "5m" | int64) -}}
{{- fail (printf "certificates.certManager.renewBefore: %s is less than the five minutes that cert-manager takes" .certManager.renewBefore) -}}
{{- end -}}
{{- if ge $renewBefore $duration -}}
{{- fail (printf "certificates.certManager.renewBefore: %s is not less than the duration, %s" .certManager.renewBefore .certManager.duration) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of a length of time as `720h`, `1h30m` or `500ms`. */}}
{{- define "armadex.milliseconds" -}}
{{- $lengths := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $all := 0 -}}
{{- range regexFindAll "[0-9]+[a-z]+" . -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $all = trimSuffix $unit . | int64 | mul (get $lengths $unit) | add $all -}}
{{- end -}}
{{- $all -}}
{{- end -}}

{{- define "armadex.validateNetworks" -}}
{{- with .Values.networkPolicy -}}
{{- if and (or .egress.enabled .apiFrom) (not .enabled) -}}
{{- fail "networkPolicy.egress.enabled and networkPolicy.apiFrom: with networkPolicy.enabled: false nothing is closed. Say networkPolicy.enabled: true, or leave them out" -}}
{{- end -}}
{{- if and .enabled .egress.enabled (not .egress.rules) -}}
{{- fail "networkPolicy.egress.rules: with networkPolicy.egress.enabled pods reach what is named here and nothing else: the control plane, the store and the members, and the apiserver of this cluster where Armadex issues its kubeconfigs itself" -}}
{{- end -}}
{{- if and .enabled (or $.Values.metrics.serviceMonitor.enabled $.Values.metrics.prometheusRule.enabled) (not .metricsFrom) -}}
{{- fail "networkPolicy.metricsFrom: with metrics.serviceMonitor.enabled or metrics.prometheusRule.enabled say which pods are the Prometheus's, as - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}, or networkPolicy.enabled: false" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "armadex.validateMonitoring" -}}
{{- with .Values.metrics.serviceMonitor -}}
{{- if and .enabled (gt (include "armadex.milliseconds" .scrapeTimeout | int64) (include "armadex.milliseconds" .interval | int64)) -}}
{{- fail (printf "metrics.serviceMonitor.scrapeTimeout: %s is more than the interval, %s, and Prometheus takes no such ServiceMonitor" .scrapeTimeout .interval) -}}
{{- end -}}
{{- end -}}
{{- $alerts := list -}}
{{- range .Files.Get "files/alerts.yaml" | fromYamlArray -}}
{{- $alerts = append $alerts .alert -}}
{{- end -}}
{{- range .Values.metrics.prometheusRule.disabled -}}
{{- if not (has . $alerts) -}}
{{- fail (printf "metrics.prometheusRule.disabled: there is no alert %s, but %s" . (join ", " $alerts)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Those by which the release's objects are found are its own. */}}
{{- define "armadex.validateLabels" -}}
{{- range $field, $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels -}}
{{- range $name, $_ := $labels -}}
{{- if regexMatch "^(app\\.kubernetes\\.io/(name|instance|version|managed-by|component)|(helm\\.sh|armadex\\.dev)/.*)$" $name -}}
{{- fail (printf "%s: the chart sets the label %s itself. Call yours otherwise" $field $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
