{{/* How the control plane is reached. */}}
{{- define "armadex.controlPlaneArgs" -}}
{{- if include "armadex.issued" . -}}
- --kubeconfig=/etc/armadex/control-plane/kubeconfig
{{- else if include "armadex.elsewhere" . -}}
- {{ printf "--kubeconfig=/etc/armadex/control-plane/%s" (.Values.controlPlane.kubeconfig.key | default "kubeconfig") | quote }}
{{- with .Values.controlPlane.kubeconfig.context }}
- {{ printf "--context=%s" . | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "armadex.storeArgs" -}}
{{- with .Values.store -}}
{{- if .url }}
- {{ printf "--store=%s" .url | quote }}
{{- else if not .urlSecret.name }}
- --store=sqlite:/var/lib/armadex/armadex.db
{{- end }}
{{- if .passwordSecret.name }}
- {{ printf "--store-password-file=/etc/armadex/store/%s" .passwordSecret.key | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "armadex.servingArgs" -}}
- {{ printf "--listen=%s:8443" .Values.bindAddress | quote }}
{{- if eq .Values.certificates.mode "self" }}
- --serving-secret=armadex-serving
- --serving-namespace={{ include "armadex.servingNamespace" . }}
{{- else }}
- --tls-cert-file=/etc/armadex/serving/tls.crt
- --tls-private-key-file=/etc/armadex/serving/tls.key
- --register-ca-file=/etc/armadex/serving/ca.crt
{{- end }}
{{- if include "armadex.elsewhere" . }}
- --register={{ include "armadex.address" . }}
{{- if .Values.install.takeOver }}
- --register-take-over
{{- end }}
{{- else }}
- --register-service={{ include "armadex.service" . }}:{{ .Values.service.port }}
{{- end }}
- --shutdown-delay={{ .Values.apiserver.shutdownDelaySeconds }}
{{- end -}}

{{/* Where there are none the program takes the usual ones for them, and has no rights there. */}}
{{- define "armadex.credentialArgs" -}}
{{- with include "armadex.credentialNamespaces" . | fromJsonArray -}}
- --credential-namespaces={{ join "," . }}
{{- end -}}
{{- end -}}

{{/* The arguments of a workload: (dict "root" $ "workload" WORKLOAD). */}}
{{- define "armadex.args" -}}
{{- $root := .root -}}
{{- $part := .workload.part -}}
{{- include "armadex.ownArgs" . -}}
{{- if ne $part "controllers" }}
{{- with $root.Values.store.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- with (index $root.Values $part).extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Those of them that the chart says itself. */}}
{{- define "armadex.ownArgs" -}}
{{- $root := .root -}}
{{- $part := .workload.part -}}
- {{ $part }}
- --log-format={{ $root.Values.log.format }}
- {{ printf "--log-level=%s" $root.Values.log.level | quote }}
- {{ printf "--admin-listen=%s:8081" $root.Values.bindAddress | quote }}
{{- with include "armadex.controlPlaneArgs" $root }}
{{ . }}
{{- end }}
- --namespace={{ include "armadex.controlPlaneNamespace" $root }}
{{- if ne $part "controllers" }}
{{- with include "armadex.storeArgs" $root | trim }}
{{ . }}
{{- end }}
{{- end }}
{{- if has $part (list "apiserver" "all") }}
{{ include "armadex.servingArgs" $root }}
{{- end }}
{{- if eq $part "apiserver" }}
{{- with $root.Values.store.read }}
{{- if .url }}
- {{ printf "--read-store=%s" .url | quote }}
{{- if .passwordSecret.name }}
- {{ printf "--read-store-password-file=/etc/armadex/read-store/%s" .passwordSecret.key | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- else }}
{{- with include "armadex.credentialArgs" $root }}
{{ . }}
{{- end }}
{{- end }}
{{- if has $part (list "synchro" "all") }}
{{- with $root.Values.memberAddresses }}
- {{ printf "--member-addresses=%s" (join "," .) | quote }}
{{- end }}
{{- end }}
{{- with .workload.shard }}
- --sharding-name={{ . }}
{{- end }}
{{- end -}}

{{/* A Secret that is mounted at /etc/armadex/NAME, as JSON: (list NAME SECRET). */}}
{{- define "armadex.secretMount" -}}
{{- $name := index . 0 -}}
{{- dict "name" $name "path" (printf "/etc/armadex/%s" $name) "volume" (dict "secret" (dict "secretName" (index . 1) "defaultMode" 288)) | toJson -}}
{{- end -}}

{{/* What a part has mounted, as JSON: a list of (name, path, volume). (dict "root" $ "part" PART) */}}
{{- define "armadex.mounts" -}}
{{- $values := .root.Values -}}
{{- $store := $values.store -}}
{{- $mounts := list -}}
{{- if include "armadex.elsewhere" .root -}}
{{- $mount := include "armadex.secretMount" (list "control-plane" (include "armadex.kubeconfigSecret" .)) | fromJson -}}
{{- if include "armadex.issued" .root -}}
{{- /* A pod waits for what is named, and would not for what is still to come into an empty Secret. */ -}}
{{- $_ := set $mount.volume.secret "items" (list (dict "key" "kubeconfig" "path" "kubeconfig") (dict "key" "token" "path" "token")) -}}
{{- end -}}
{{- $mounts = append $mounts $mount -}}
{{- end -}}
{{- if ne .part "controllers" -}}
{{- $mounts = concat $mounts (include "armadex.storeMounts" .root | fromJsonArray) -}}
{{- end -}}
{{- if and (eq .part "apiserver") $store.read.url $store.read.passwordSecret.name -}}
{{- $mounts = append $mounts (include "armadex.secretMount" (list "read-store" $store.read.passwordSecret.name) | fromJson) -}}
{{- end -}}
{{- if and (has .part (list "apiserver" "all")) (ne $values.certificates.mode "self") -}}
{{- $mounts = append $mounts (include "armadex.secretMount" (list "serving" (include "armadex.certificateSecret" .root)) | fromJson) -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end -}}

{{/* What whoever opens the store has mounted, as JSON: a list of (name, path, volume). */}}
{{- define "armadex.storeMounts" -}}
{{- $store := .Values.store -}}
{{- $mounts := list -}}
{{- if not (include "armadex.server" .) -}}
{{- $volume := ternary (dict "emptyDir" (dict)) (dict "persistentVolumeClaim" (dict "claimName" (include "armadex.claim" .))) $store.sqlite.emptyDir -}}
{{- $mounts = append $mounts (dict "name" "data" "path" "/var/lib/armadex" "volume" $volume) -}}
{{- end -}}
{{- with $store.passwordSecret.name -}}
{{- $mounts = append $mounts (include "armadex.secretMount" (list "store" .) | fromJson) -}}
{{- end -}}
{{- with $store.tlsSecretName -}}
{{- $mounts = append $mounts (include "armadex.secretMount" (list "store-tls" .) | fromJson) -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end -}}

{{/* The container of a pod, of Jobs too: (dict "root" $ "args" YAML "env" YAML "mounts" LIST "resources" MAP), each mount with a name, a path and a volume. */}}
{{- define "armadex.container" -}}
name: armadex
image: {{ include "armadex.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  {{- .args | nindent 2 }}
{{- with .env }}
env:
  {{- . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- range .mounts }}
  - name: {{ .name }}
    mountPath: {{ .path }}
    {{- if hasPrefix "/etc/" .path }}
    readOnly: true
    {{- end }}
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The volumes of these mounts: (dict "root" $ "mounts" LIST). */}}
{{- define "armadex.volumes" -}}
- name: tmp
  emptyDir: {}
{{- range .mounts }}
- name: {{ .name }}
  {{- toYaml .volume | nindent 2 }}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What else all pods have in common, those of Jobs included. */}}
{{- define "armadex.podCommon" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
enableServiceLinks: false
{{- end -}}

{{/* Variables by which a URL with its password is taken from a Secret, and further ones: (dict "root" $ "part" PART), of a Job that has no store without the part. */}}
{{- define "armadex.env" -}}
{{- $store := .root.Values.store -}}
{{- if has .part (list "all" "apiserver" "synchro") }}
{{- if $store.urlSecret.name }}
- name: ARMADEX_STORE
  valueFrom:
    secretKeyRef:
      name: {{ $store.urlSecret.name | quote }}
      key: {{ $store.urlSecret.key | quote }}
{{- else if not $store.url }}
# What SQLite writes beside the file is as much as the file: it has room on the volume, and lies nowhere else.
- name: SQLITE_TMPDIR
  value: /var/lib/armadex
{{- end }}
{{- end }}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The template of a workload's pods: (dict "root" $ "workload" WORKLOAD). */}}
{{- define "armadex.pod" -}}
{{- $root := .root -}}
{{- $part := .workload.part -}}
{{- $settings := index $root.Values $part -}}
{{- $serves := has $part (list "apiserver" "all") -}}
{{- $mounts := include "armadex.mounts" (dict "root" $root "part" $part) | fromJsonArray -}}
{{- $env := include "armadex.env" (dict "root" $root "part" $part) | trim -}}
{{- $labels := dict "app.kubernetes.io/component" $part "armadex.dev/scraped" "true" -}}
{{- if $serves -}}
{{- $_ := set $labels "armadex.dev/serves" "true" -}}
{{- end -}}
{{- if hasKey .workload "shard" -}}
{{- $_ := set $labels "armadex.dev/shard" .workload.shard -}}
{{- end -}}
metadata:
  labels:
    {{- include "armadex.podLabels" (dict "root" $root "own" $labels) | nindent 4 }}
  annotations:
    {{- merge (dict) $root.Values.podAnnotations $root.Values.commonAnnotations (dict "kubectl.kubernetes.io/default-container" "armadex") | toYaml | nindent 4 }}
spec:
  serviceAccountName: {{ include "armadex.account" (dict "root" $root "part" $part) | quote }}
  automountServiceAccountToken: {{ not (include "armadex.elsewhere" $root) }}
  {{- include "armadex.podCommon" $root | trim | nindent 2 }}
  {{- with $settings.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $settings.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml $settings.topologySpreadConstraints | nindent 4 }}
  {{- else if gt (int .workload.replicas) 1 }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "armadex.workloadSelector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  # It ends within 20 s, after what it goes on serving for.
  terminationGracePeriodSeconds: {{ ternary (add $root.Values.apiserver.shutdownDelaySeconds 30) 30 $serves }}
  volumes:
    {{- include "armadex.volumes" (dict "root" $root "mounts" $mounts) | nindent 4 }}
  containers:
    - {{- include "armadex.container" (dict "root" $root "args" (include "armadex.args" .) "env" $env "mounts" $mounts "resources" $settings.resources) | nindent 6 }}
      ports:
        {{- if $serves }}
        - name: https
          containerPort: 8443
        {{- end }}
        - name: admin
          containerPort: 8081
      # The port opens when the store is open: a schema that is brought up to date, or another process that does so, may take minutes.
      startupProbe:
        httpGet:
          path: /livez
          port: admin
        periodSeconds: 5
        # An hour, as store.migration has: one that is ended on the way may have to begin anew.
        failureThreshold: 720
      livenessProbe:
        httpGet:
          path: /livez
          port: admin
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: admin
        periodSeconds: 5
        timeoutSeconds: 2
        failureThreshold: 2
{{- end -}}

{{/* A Deployment: (dict "root" $ "workload" WORKLOAD). New pods are there before old ones go. */}}
{{- define "armadex.deployment" -}}
{{- $root := .root -}}
{{- $workload := .workload -}}
{{- $labels := dict -}}
{{- if hasKey $workload "shard" -}}
{{- $labels = dict "armadex.dev/shard" $workload.shard -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "armadex.metadata" (dict "root" $root "name" (printf "%s-%s" (include "armadex.fullname" $root) $workload.name) "component" $workload.part "labels" $labels) | nindent 2 }}
spec:
  {{- with include "armadex.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "armadex.workloadSelector" . | nindent 6 }}
  template:
    {{- include "armadex.pod" . | nindent 4 }}
{{- end -}}
