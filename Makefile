# Two commands do everything: `make demo` and `make test`. The rest are parts of them.

TARGET := $(or $(CARGO_TARGET_DIR),target)
E2E := $(TARGET)/demo/armadex-e2e
COUNT ?= 20000

.PHONY: prerequisites programs tools demo demo-join demo-unjoin demo-rotate demo-seed demo-down

# What must be on the machine beforehand; names what is missing.
prerequisites:
	@sh e2e/prerequisites.sh

# Both programs in one go: with the same features, nothing is built twice.
programs: prerequisites
	cargo build --profile demo --locked --package armadex --package armadex-e2e

# etcd, kube-apiserver, kube-controller-manager and kubectl: found, or built once into a cache outside the tree.
tools: programs
	@$(E2E) tools

# A control plane, two members, Armadex, a policy and rows in kubectl; runs until Ctrl-C.
demo: programs
	$(E2E) demo

# From a second terminal, while the demo runs:
$(E2E):
	$(MAKE) programs

# make demo-join NAME=member3: starts the member if there is none of that name, and joins it.
demo-join: $(E2E)
	@$(E2E) join "$(or $(NAME),$(error which member? make $@ NAME=member3))"

# make demo-unjoin NAME=member3: takes it out of the fleet; its apiserver goes on.
demo-unjoin: $(E2E)
	@$(E2E) unjoin "$(or $(NAME),$(error which member? make $@ NAME=member3))"

# make demo-rotate NAME=member1: a new token for the control plane, the old one revoked.
demo-rotate: $(E2E)
	@$(E2E) rotate "$(or $(NAME),$(error which member? make $@ NAME=member1))"

# make demo-seed COUNT=20000: realistic objects into every member.
demo-seed: $(E2E)
	@$(E2E) seed --count "$(COUNT)"

# Stops the demo and all that was started in its folder.
demo-down: $(E2E)
	@$(E2E) down

.PHONY: test databases check unit budgets bench-store e2e e2e-ha e2e-upgrade e2e-helm3 gen gen-current deny commits

# What was not run for want of a database server, or of Karmada, says so in the first file, advisories that could not be checked in the second; `make test`
# ends with both.
NOT_RUN := $(abspath $(TARGET))/not-run.txt
NOT_CHECKED := $(abspath $(TARGET))/not-checked.txt
# In seconds, when it was begun.
BEGUN := $(shell date +%s)

# Everything that a change has to pass. The end-to-end tests need both programs and the control plane's tools.
test: check deny tools databases
	@rm -f "$(NOT_RUN)"
	RUST_BACKTRACE=1 ARMADEX_TEST_NOT_RUN="$(NOT_RUN)" ARMADEX_BIN="$(abspath $(TARGET))/demo/armadex" cargo test --locked --workspace
	@took=$$(( $$(date +%s) - $(BEGUN) )); echo; echo "make test took $$((took / 60)) min $$((took % 60)) s"
	@[ ! -s "$(NOT_RUN)" ] && [ ! -s "$(NOT_CHECKED)" ] || { echo; echo 'PASSED, BUT NOT EVERYTHING WAS TRIED:'; cat "$(NOT_RUN)" "$(NOT_CHECKED)" 2>/dev/null | sort -u; }

# PostgreSQL and MariaDB, which tests start for themselves: installed from Debian's packages where they are missing, not as services.
databases:
	@sh databases/install.sh

# Formatting, lints, documentation, generated files.
check: prerequisites gen-current
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --workspace --no-deps --document-private-items

# What needs no control plane.
unit: prerequisites databases
	cargo test --locked --workspace --exclude armadex-e2e --exclude armadex-bench

# What pages look at with clusters and namespaces of a large fleet, in whatever order they come, and two hundred policies on one kind of it: some minutes, and no part of `make test`.
budgets: prerequisites
	ARMADEX_TEST_CLUSTERS=10000 ARMADEX_TEST_NAMESPACES=20000 cargo test --locked --package armadex-storage-sql --test budgets
	ARMADEX_TEST_POLICIES=200 cargo test --locked --package armadex-importpolicy --test run large_kind

# The speed of the store alone, on each database: it fails where an aim is missed that was reached. Some minutes on a machine with nothing else to do, and no part of `make test`.
bench-store: prerequisites databases
	cargo build --profile demo --locked --package armadex-bench
	"$(abspath $(TARGET))/demo/armadex-bench" store --count 40000 --store all

# What needs control planes.
e2e: tools
	ARMADEX_BIN="$(abspath $(TARGET))/demo/armadex" cargo test --locked --package armadex-e2e --package armadex-bench

# A store on servers of which some are lost: a PostgreSQL whose replica takes over, a Galera cluster of three. Some minutes, and no part of `make test`.
e2e-ha: tools
	@sh databases/install.sh galera
	cargo test --locked --package armadex-storage-sql --test galera -- --ignored
	ARMADEX_BIN="$(abspath $(TARGET))/demo/armadex" cargo test --locked --package armadex-e2e --test ha -- --ignored --test-threads 1 --nocapture

# The program of before the newest migration and this one on one store, and one of before histories, which is refused once there is one. They are built from the
# history of the repository, which takes minutes, once; no part of `make test`.
e2e-upgrade: tools databases
	former="$$(sh e2e/former.sh)" && older="$$(sh e2e/former.sh history)" && \
		ARMADEX_FORMER_BIN="$$former" ARMADEX_OLDER_BIN="$$older" ARMADEX_TEST_DATABASES=require ARMADEX_TEST_PODS=require ARMADEX_BIN="$(abspath $(TARGET))/demo/armadex" \
		cargo test --locked --package armadex-e2e --test upgrade --test charted -- --ignored --test-threads 1 --nocapture

# The chart by helm 3, which is built from its module as its own Makefile does, once; no part of `make test`. Without a cluster it prints no notes, which the three that are left out read.
HELM_3 := 3.22.0
# Of the Kubernetes whose client it has: what it takes a cluster for that it does not ask.
HELM_3_KUBERNETES := 37
HELM_3_FOLDER := $(abspath $(TARGET))/helm-$(HELM_3)

$(HELM_3_FOLDER)/helm:
	GOBIN="$(HELM_3_FOLDER)" CGO_ENABLED=0 go install -trimpath -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=v$(HELM_3) \
		-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$(HELM_3_KUBERNETES)" helm.sh/helm/v3/cmd/helm@v$(HELM_3)

e2e-helm3: tools databases $(HELM_3_FOLDER)/helm
	ARMADEX_E2E_HELM="$(HELM_3_FOLDER)/helm" ARMADEX_TEST_DATABASES=require ARMADEX_TEST_PODS=require ARMADEX_BIN="$(abspath $(TARGET))/demo/armadex" \
		cargo test --locked --package armadex-e2e --test chart --test charted -- \
		--skip the_notes_ --skip with_another_value_than_the_one_that_is_tried_something_else_is_made

# make commits FROM=main: whether each commit since then builds, tests and all. A minute or two for each, and no part of `make test`.
commits: prerequisites
	@.ci/commits "$(or $(FROM),$(error since which commit? make $@ FROM=main))"

# Regenerates what is generated; commit the result.
gen:
	cargo run --quiet --locked --package armadex-crds --example generate
	cargo run --quiet --locked --package armadex-e2e --example chart

gen-current: gen
	@git diff --exit-code --stat -- 'crds/*.yaml' charts/armadex/files charts/armadex/README.md && [ -z "$$(git ls-files --others charts/armadex/files)" ] || { echo 'generated files are not current: commit what make gen made' >&2; exit 1; }

# Dependencies: licences, bans, sources, advisories, and none that is not used. Both tools are installed once, into ~/.cargo/bin.
CARGO_DENY := 0.20.2
CARGO_MACHETE := 0.9.2

deny: prerequisites
	@cargo deny --version 2>/dev/null | grep -qF ' $(CARGO_DENY)' || { echo 'installing cargo-deny (a few minutes, once)'; cargo install --locked --quiet cargo-deny@$(CARGO_DENY); }
	cargo deny --log-level error check bans licenses sources
	@.ci/advisories "$(NOT_CHECKED)"
	@cargo machete --version 2>/dev/null | grep -qF '$(CARGO_MACHETE)' || { echo 'installing cargo-machete (a minute, once)'; cargo install --locked --quiet cargo-machete@$(CARGO_MACHETE); }
	cargo machete
