# Everything here needs Go, a C compiler for the race detector, and the Go module proxy. Tools are pinned, built once with
# the Go that is installed, and kept under .cache/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GOLANGCI_LINT_VERSION := v2.15.0
# v0.5.0 needs a newer Go.
CHECK_SUMTYPE_VERSION := v0.4.0
GOTESTSUM_VERSION := v1.13.0

CACHE := $(CURDIR)/.cache
TOOLS := $(CACHE)/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
CHECK_SUMTYPE := $(TOOLS)/go-check-sumtype-$(CHECK_SUMTYPE_VERSION)
GOTESTSUM := $(TOOLS)/gotestsum-$(GOTESTSUM_VERSION)

# A version stamp would make builds depend on who owns the checkout.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false
export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint
GIT := git -c safe.directory=*

FUZZTIME ?= 10s
N ?= 400
BENCH ?= .
TEST ?= go test
TESTFLAGS ?=
# Where goroutines and processes race: the kernel, what drives it, and the stores.
RACE_PACKAGES := $(addsuffix /...,$(wildcard ./pkg/kernel ./pkg/*store ./pkg/s3objects ./pkg/agent ./pkg/sdk ./pkg/client ./internal/lru ./internal/awsfault))

# What talks to AWS, or plays it. The kernel's tests run over its store besides; their crashes are played by ./localstack/cloudtest, at every
# request instead of at every call.
CLOUD_PACKAGES := $(addsuffix /...,$(wildcard ./localstack ./internal/awsfault ./pkg/dynstore ./pkg/s3objects))

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the embedded host
	go run ./cmd/stepwell serve $(ARGS)

.PHONY: build
build: ## Build the command into bin/
	go build -trimpath -o bin/ ./cmd/...

.PHONY: test
test: ## Run every test; those of the cloud skip where the emulator cannot be installed
	$(TEST) $(TESTFLAGS) ./...

.PHONY: cloud
cloud: ## Install the emulator that the cloud tests play against (needs python3 with venv)
	@sh localstack/setup.sh

.PHONY: test-cloud
test-cloud: cloud ## Run the tests that need a cloud (AWS_ENDPOINT_URL=another one than the emulator)
	CI=true $(TEST) $(TESTFLAGS) $(CLOUD_PACKAGES)
	CI=true STEPWELL_KERNEL_STORES=dynstore $(TEST) $(TESTFLAGS) -skip '^TestCrash_' ./pkg/kernel
	CI=true STEPWELL_KERNEL_STORES=dynstore-faults $(TEST) $(TESTFLAGS) -skip '^TestCrash_' ./pkg/kernel

.PHONY: race
race: ## Run the kernel's and the stores' tests under the race detector
	@command -v "$$(go env CC)" >/dev/null || { echo "make race: the race detector needs a C compiler ($$(go env CC))" >&2; exit 1; }
	CGO_ENABLED=1 $(TEST) -race $(TESTFLAGS) $(RACE_PACKAGES)

.PHONY: lint
lint: $(GOLANGCI_LINT) $(CHECK_SUMTYPE) ## Lint, check formatting, and check closed unions over the whole program
	$(GOLANGCI_LINT) run ./...
	$(CHECK_SUMTYPE) -default-signifies-exhaustive=false ./...

.PHONY: lattice
lattice: ## Check which package imports which, and what the documents claim
	$(TEST) $(TESTFLAGS) .

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code as lint wants it
	$(GOLANGCI_LINT) fmt ./...

.PHONY: generate
generate: ## Write generated files anew
	go generate ./...

.PHONY: verify
verify: ## Check that generated files and go.mod are up to date
	go mod tidy -diff
	@before="$$($(GIT) diff | cksum; $(GIT) ls-files -o --exclude-standard)"; \
	$(MAKE) generate; \
	after="$$($(GIT) diff | cksum; $(GIT) ls-files -o --exclude-standard)"; \
	if [[ "$$before" != "$$after" ]]; then $(GIT) status --short; echo "make verify: generated files were out of date" >&2; exit 1; fi

.PHONY: bench
bench: ## Measure store, step and kernel in one run, and print the tables of docs/performance.md (N=samples)
	go run ./internal/bench -n $(N)

.PHONY: microbench
microbench: ## Run the benchmarks of single packages (BENCH=regexp)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m $(TESTFLAGS) ./...

.PHONY: fuzz
fuzz: ## Fuzz every target for a while (FUZZTIME=10s)
	@grep -rE --include='*_test.go' --exclude-dir=.cache --exclude-dir=.git '^func Fuzz[A-Za-z0-9_]+\(' . | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]+)\(.*|\1 \2|' | sort | \
	while read -r dir name; do \
		echo "--- $$name in $$dir"; \
		go test "$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) </dev/null; \
	done

.PHONY: check
check: $(GOTESTSUM) ## Run what CI runs: verify, test (with the import lattice), race, lint
	@mkdir -p $(CACHE)/results
	$(MAKE) verify
	$(MAKE) test TEST='$(GOTESTSUM) --format pkgname --jsonfile $(CACHE)/results/test.json --' | tee $(CACHE)/results/test.log
	$(MAKE) race TEST='$(GOTESTSUM) --format pkgname --jsonfile $(CACHE)/results/race.json --' | tee $(CACHE)/results/race.log
	$(MAKE) lint

.PHONY: clean
clean: ## Remove what was built, the tools included
	rm -rf bin $(CACHE)

# install builds a pinned tool: $(call install,package,version,file).
define install
	@mkdir -p $(TOOLS)
	@echo "building $(notdir $(1)) $(2)"
	@dir="$$(mktemp -d $(TOOLS)/build.XXXXXX)"; trap 'rm -rf "$$dir"' EXIT; \
	GOBIN="$$dir" GOFLAGS= go install $(1)@$(2); mv "$$dir/$(notdir $(1))" $(3)
endef

$(GOLANGCI_LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_LINT_VERSION),$@)

$(CHECK_SUMTYPE):
	$(call install,github.com/alecthomas/go-check-sumtype/cmd/go-check-sumtype,$(CHECK_SUMTYPE_VERSION),$@)

$(GOTESTSUM):
	$(call install,gotest.tools/gotestsum,$(GOTESTSUM_VERSION),$@)
