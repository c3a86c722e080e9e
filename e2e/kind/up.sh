#!/bin/sh
# The same folder of kubeconfigs as `armadex-e2e up`, from kind clusters and a real Karmada in containers:
#   host.kubeconfig      the Karmada apiserver (context host)
#   <member>.kubeconfig  straight to each member's apiserver (context <member>)
# Needs docker, kind, kubectl and karmadactl 1.18 or later. Takes the number of members (2); `down` removes all of it.
set -eu

FOLDER=${ARMADEX_DEMO_DIR:-.demo}
PREFIX=armadex
ARGUMENT=${1:-2}

lacks() {
    printf '%s is needed here: %s\n' "$1" "$2" >&2
    exit 1
}

command -v docker >/dev/null 2>&1 || lacks docker 'https://docs.docker.com/engine/install; without it, use make demo'
docker info >/dev/null 2>&1 || lacks 'a running Docker engine' 'docker info does not reach one; without it, use make demo'
command -v kind >/dev/null 2>&1 || lacks kind 'go install sigs.k8s.io/kind@latest'
command -v kubectl >/dev/null 2>&1 || lacks kubectl 'https://kubernetes.io/docs/tasks/tools'

if [ "$ARGUMENT" = down ]; then
    for cluster in $(kind get clusters 2>/dev/null | grep "^$PREFIX-"); do
        kind delete cluster --name "$cluster"
    done
    exit 0
fi
command -v karmadactl >/dev/null 2>&1 || lacks karmadactl 'https://karmada.io/docs/installation/install-cli-tools'

umask 077
mkdir -p "$FOLDER/state/karmada"
FOLDER=$(cd "$FOLDER" && pwd)

# cluster NAME KUBECONFIG: a kind cluster whose kubeconfig has the one context NAME.
cluster() {
    kind get clusters 2>/dev/null | grep -qx "$PREFIX-$1" || kind create cluster --name "$PREFIX-$1" --wait 120s
    kind get kubeconfig --name "$PREFIX-$1" > "$2"
    kubectl --kubeconfig "$2" config rename-context "kind-$PREFIX-$1" "$1" >/dev/null
}

# The address of a kind cluster as other containers see it: Karmada runs in one, so members are joined by it.
inside() {
    kind get kubeconfig --internal --name "$PREFIX-$1"
}

cluster base "$FOLDER/state/karmada/base.kubeconfig"
if [ ! -f "$FOLDER/host.kubeconfig" ]; then
    karmadactl --kubeconfig "$FOLDER/state/karmada/base.kubeconfig" init \
        --karmada-data "$FOLDER/state/karmada" --karmada-pki "$FOLDER/state/karmada/pki" \
        --karmada-apiserver-advertise-address \
        "$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$PREFIX-base-control-plane")"
    cp "$FOLDER/state/karmada/karmada-apiserver.config" "$FOLDER/host.kubeconfig"
    kubectl --kubeconfig "$FOLDER/host.kubeconfig" config rename-context \
        "$(kubectl --kubeconfig "$FOLDER/host.kubeconfig" config current-context)" host >/dev/null
fi

number=1
while [ "$number" -le "$ARGUMENT" ]; do
    name=member$number
    cluster "$name" "$FOLDER/$name.kubeconfig"
    inside "$name" > "$FOLDER/state/karmada/$name.internal.kubeconfig"
    if ! kubectl --kubeconfig "$FOLDER/host.kubeconfig" get clusters.cluster.karmada.io "$name" >/dev/null 2>&1; then
        # On Linux the containers' network can be reached from the host as well, so one address serves both.
        karmadactl --kubeconfig "$FOLDER/host.kubeconfig" join "$name" \
            --cluster-kubeconfig "$FOLDER/state/karmada/$name.internal.kubeconfig"
    fi
    number=$((number + 1))
done

kubectl --kubeconfig "$FOLDER/host.kubeconfig" get clusters.cluster.karmada.io
printf 'the control plane is Karmada; kubeconfigs: %s/*.kubeconfig\n' "$FOLDER"
