#!/bin/sh
# Real clusters in containers, from kind and a real Karmada, for the demo and the tests to attach to:
#
#   e2e/kind/up.sh [MEMBERS]                  makes them, two if nothing is said; again after a failure, and for more of them
#   make programs                             builds Armadex
#   target/demo/armadex-e2e demo --attach .kind
#   ARMADEX_E2E_ATTACH=.kind cargo test --package armadex-e2e --test fleets attached
#   e2e/kind/up.sh down                       removes all of it
#
# What is in the folder (.kind, or $ARMADEX_KIND_DIR), which nobody else clears:
#   host.kubeconfig      the Karmada apiserver (context host)
#   <member>.kubeconfig  straight to each member's apiserver (context <member>)
#   address              the address of this machine in the containers' network: where the control plane reaches Armadex
#
# It needs Linux, whose containers can be reached from the machine itself, docker, kind, kubectl and karmadactl 1.18 or later.
set -eu

FOLDER=${ARMADEX_KIND_DIR:-.kind}
PREFIX=armadex
ARGUMENT=${1:-2}

fails() {
    printf '%s\n' "$1" >&2
    exit 1
}

lacks() {
    fails "$1 is needed here: $2"
}

command -v docker >/dev/null 2>&1 || lacks docker 'https://docs.docker.com/engine/install; without it, use make demo'
docker info >/dev/null 2>&1 || lacks 'a running Docker engine' 'docker info does not reach one; without it, use make demo'
command -v kind >/dev/null 2>&1 || lacks kind 'go install sigs.k8s.io/kind@latest'
command -v kubectl >/dev/null 2>&1 || lacks kubectl 'https://kubernetes.io/docs/tasks/tools'

if [ "$ARGUMENT" = down ]; then
    for cluster in $(kind get clusters 2>/dev/null | grep "^$PREFIX-"); do
        kind delete cluster --name "$cluster"
    done
    rm -rf "$FOLDER/karmada" "$FOLDER/address" "$FOLDER/host.kubeconfig" "$FOLDER"/member*.kubeconfig
    exit 0
fi
command -v karmadactl >/dev/null 2>&1 || lacks karmadactl 'https://karmada.io/docs/installation/install-cli-tools'
case $ARGUMENT in
    *[!0-9]* | 0) fails "$ARGUMENT is no number of members; or is down meant?" ;;
esac

umask 077
mkdir -p "$FOLDER/karmada"
FOLDER=$(cd "$FOLDER" && pwd)

address() {
    docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$PREFIX-$1-control-plane"
}

exists() {
    kind get clusters 2>/dev/null | grep -qx "$PREFIX-$1"
}

# cluster NAME KUBECONFIG: a kind cluster whose kubeconfig has the one context NAME. Its address is that of the container: on
# Linux it can be reached from this machine and from other containers, so Karmada joins a member by the same one. The kubeconfig is
# written last; a cluster without one was not finished, and is made anew.
cluster() {
    if [ ! -f "$2" ]; then
        if exists "$1"; then
            kind delete cluster --name "$PREFIX-$1"
        fi
        kind create cluster --name "$PREFIX-$1" --wait 120s --kubeconfig "$FOLDER/karmada/kind.kubeconfig"
        kind get kubeconfig --name "$PREFIX-$1" > "$2.part"
        kubectl --kubeconfig "$2.part" config set-cluster "kind-$PREFIX-$1" --server "https://$(address "$1"):6443" >/dev/null
        kubectl --kubeconfig "$2.part" config rename-context "kind-$PREFIX-$1" "$1" >/dev/null
        mv "$2.part" "$2"
    fi
    kubectl --kubeconfig "$2" --request-timeout 30s get --raw /readyz >/dev/null ||
        fails "$PREFIX-$1 does not answer; after a restart of Docker its address is another one: run $0 down, then again"
}

# A control plane that was begun and not finished cannot be gone on with: its cluster is made anew.
base=$FOLDER/karmada/base.kubeconfig
host=$FOLDER/host.kubeconfig
if [ ! -f "$host" ]; then
    rm -f "$base"
fi
cluster base "$base"
if [ ! -f "$host" ]; then
    rm -rf "$FOLDER/karmada/data"
    karmadactl init --kubeconfig "$base" --karmada-data "$FOLDER/karmada/data" \
        --karmada-pki "$FOLDER/karmada/data/pki" --karmada-apiserver-advertise-address "$(address base)"
    cp "$FOLDER/karmada/data/karmada-apiserver.config" "$host.part"
    kubectl --kubeconfig "$host.part" config rename-context \
        "$(kubectl --kubeconfig "$host.part" config current-context)" host >/dev/null
    mv "$host.part" "$host"
fi

# IPv4: containers reach this machine by the gateway of their network.
docker network inspect kind --format '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' |
    grep -m 1 '^[0-9.][0-9.]*$' > "$FOLDER/address" || fails 'the network kind has no IPv4 gateway'

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
