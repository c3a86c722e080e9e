#!/bin/sh
# The same folder of kubeconfigs as `armadex-e2e up`, from kind clusters and a real Karmada in containers:
#   host.kubeconfig      the Karmada apiserver (context host)
#   <member>.kubeconfig  straight to each member's apiserver (context <member>)
# It needs Linux, whose containers can be reached from the machine itself.
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
    rm -rf "$FOLDER/state/karmada" "$FOLDER/host.kubeconfig" "$FOLDER"/member*.kubeconfig
    exit 0
fi
command -v karmadactl >/dev/null 2>&1 || lacks karmadactl 'https://karmada.io/docs/installation/install-cli-tools'

umask 077
mkdir -p "$FOLDER/state/karmada"
FOLDER=$(cd "$FOLDER" && pwd)

address() {
    docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$PREFIX-$1-control-plane"
}

# cluster NAME KUBECONFIG: a kind cluster whose kubeconfig has the one context NAME. Its address is that of the container: on
# Linux it can be reached from this machine and from other containers, so Karmada joins a member by the same one.
cluster() {
    kind get clusters 2>/dev/null | grep -qx "$PREFIX-$1" || kind create cluster --name "$PREFIX-$1" --wait 120s
    kind get kubeconfig --name "$PREFIX-$1" > "$2"
    kubectl --kubeconfig "$2" config set-cluster "kind-$PREFIX-$1" --server "https://$(address "$1"):6443" >/dev/null
    kubectl --kubeconfig "$2" config rename-context "kind-$PREFIX-$1" "$1" >/dev/null
}

base=$FOLDER/state/karmada/base.kubeconfig
host=$FOLDER/host.kubeconfig
cluster base "$base"
if [ ! -f "$host" ]; then
    karmadactl init --kubeconfig "$base" --karmada-data "$FOLDER/state/karmada" \
        --karmada-pki "$FOLDER/state/karmada/pki" --karmada-apiserver-advertise-address "$(address base)"
    cp "$FOLDER/state/karmada/karmada-apiserver.config" "$host"
    kubectl --kubeconfig "$host" config rename-context \
        "$(kubectl --kubeconfig "$host" config current-context)" host >/dev/null
fi

number=1
while [ "$number" -le "$ARGUMENT" ]; do
    name=member$number
    cluster "$name" "$FOLDER/$name.kubeconfig"
    if ! kubectl --kubeconfig "$host" get clusters.cluster.karmada.io "$name" >/dev/null 2>&1; then
        karmadactl --kubeconfig "$host" join "$name" --cluster-kubeconfig "$FOLDER/$name.kubeconfig"
    fi
    number=$((number + 1))
done

kubectl --kubeconfig "$host" get clusters.cluster.karmada.io
printf 'the control plane is Karmada; kubeconfigs: %s/*.kubeconfig\n' "$FOLDER"
