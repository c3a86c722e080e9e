#!/bin/sh
# Checks what must be on the machine before anything is built, and names what is missing with the way to get it.
# Everything else (etcd, Kubernetes, the crates) is fetched or built by the commands that need it.
set -u

RUST_WANTED=1.94
GO_WANTED=1.26
missing=0

lacks() {
    printf 'missing: %s\n    %s\n' "$1" "$2" >&2
    missing=1
}

# at_least HAVE WANTED: compares major.minor.
at_least() {
    have_major=${1%%.*}; have_rest=${1#*.}; have_minor=${have_rest%%.*}
    want_major=${2%%.*}; want_minor=${2#*.}
    [ "$have_major" -gt "$want_major" ] && return 0
    [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]
}

# The first major.minor in what a program prints of itself.
version_in() {
    printf '%s\n' "$1" | sed -n 's/[^0-9]*\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1
}

needs() {
    command -v "$1" >/dev/null 2>&1 || lacks "$1" "$2"
}

# needs_version NAME WANTED WHAT-IT-PRINTS HOW-TO-GET-IT
needs_version() {
    found=$(version_in "$3")
    if [ -z "$found" ]; then
        lacks "$1 $2 or later" "$4"
    elif ! at_least "$found" "$2"; then
        lacks "$1 $2 or later (found $found)" "$4"
    fi
}

needs make 'apt-get install make'
needs git 'apt-get install git'
needs cc 'apt-get install gcc libc6-dev'
needs_version Rust "$RUST_WANTED" "$(cargo --version 2>/dev/null)" \
    'see https://rustup.rs, then: rustup update stable'
needs_version Go "$GO_WANTED" "$(go version 2>/dev/null)" \
    "see https://go.dev/dl (Debian's own package is older), and put its bin folder into PATH"

exit "$missing"
