# The image of Armadex: the program, and nothing else but the C library and the roots of certificates. Needs no feature of one builder alone; `docker build .`, `podman build .` and
# `buildah build .` make the same.
#
#   docker build --tag REGISTRY/armadex:0.1.0 .
#
# For another architecture build on such a machine, as the workflow `release` does: nothing is cross-compiled here.

# Bases come by arguments for those who have mirrors. The second needs glibc of Debian 12 or later, and certificates.
ARG RUST_IMAGE=docker.io/library/rust:1.95.0-bookworm
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

FROM ${RUST_IMAGE} AS build
# Writes into the program which crates it is made of, so that a scanner of images can tell.
ARG CARGO_AUDITABLE=0.7.7
RUN cargo install --locked --root /usr/local "cargo-auditable@${CARGO_AUDITABLE}"
WORKDIR /src
COPY . .
# Kernels of arm64 may have pages of 64 KiB, which jemalloc has to know when it is built.
RUN if [ "$(uname -m)" = aarch64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi \
 && cargo auditable build --locked --release --package armadex --target-dir /target \
 && install -D /target/release/armadex /image/usr/local/bin/armadex

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="armadex" \
      org.opencontainers.image.description="The index of an armada of Kubernetes clusters" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/ /
# As the chart runs it; nobody has a name here, so a number that Kubernetes can tell from root.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/armadex"]
