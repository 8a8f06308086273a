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

INFRA := $(CACHE)/infra
CDK_LOCK := localstack/package-lock.json
# The tests of localstack/deploy find the command line, and leave it, in the same place.
CDK_CLI := $(INFRA)/cli-$(shell sha256sum $(CDK_LOCK) | cut -c1-12)
CDK := $(CDK_CLI)/node_modules/aws-cdk/bin/cdk
# Context of the deployment: make deploy CONTEXT='-c stage=prod -c jwtIssuer=https://... -c jwtAudience=...'
CONTEXT ?=
# Everything that the CDK unpacks and remembers is kept under .cache.
INFRA_ENV := CDK_HOME=$(INFRA)/home JSII_RUNTIME_PACKAGE_CACHE_ROOT=$(INFRA)/jsii CDK_DISABLE_CLI_TELEMETRY=true \
	JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 NODE_NO_WARNINGS=1
CDK_RUN = cd infra && $(INFRA_ENV) node $(CDK) --app $(INFRA)/app --output $(INFRA)/cdk.out --no-notices

ARCH ?= arm64
FUNCTIONS := $(notdir $(wildcard functions/*))

FUZZTIME ?= 10s
N ?= 400
BENCH ?= .
TEST ?= go test
# The deployed tests wait for people and deadlines, longer than the ten minutes that go test allows on a small machine.
TESTFLAGS ?= -timeout 20m
# Where goroutines and processes race: the kernel, what drives it, and the stores.
RACE_PACKAGES := $(addsuffix /...,$(wildcard ./pkg/kernel ./pkg/*store ./pkg/s3objects ./pkg/agent ./pkg/sdk ./pkg/client ./internal/lru ./internal/awsfault ./internal/lambdahttp))

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
test: ## Run every test; those of the cloud skip where the emulator cannot be installed, those of the stack where there is no Node
	$(TEST) $(TESTFLAGS) ./...
	@if command -v node >/dev/null; then $(MAKE) infra-test TEST='go test'; else echo "infra: skipped, there is no node"; fi

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
	cd infra && $(GOLANGCI_LINT) run --config ../.golangci.yml ./...

# The functions are built for Lambda's arm64 unless ARCH says otherwise; the same source gives the same bytes.
.PHONY: functions
functions: ## Build the functions into dist/NAME.zip (ARCH=arm64 or amd64)
	@rm -rf dist && mkdir -p dist
	@go build -o $(CACHE)/functionzip ./internal/functionzip
	@for f in $(FUNCTIONS); do \
		GOOS=linux GOARCH=$(ARCH) CGO_ENABLED=0 go build -trimpath -tags lambda.norpc -ldflags '-s -w -buildid=' -o dist/$$f/bootstrap ./functions/$$f; \
		$(CACHE)/functionzip dist/$$f/bootstrap dist/$$f.zip; rm -r dist/$$f; \
	done
	@ls -l dist

.PHONY: infra-app
infra-app:
	@command -v node >/dev/null || { echo "make: the CDK needs node (Debian: nodejs and npm)" >&2; exit 1; }
	@mkdir -p $(INFRA)
	cd infra && go build -o $(INFRA)/app .

$(CDK):
	@mkdir -p $(CDK_CLI)
	@cp localstack/package.json $(CDK_LOCK) $(CDK_CLI)/
	cd $(CDK_CLI) && npm ci --no-audit --no-fund --ignore-scripts

.PHONY: synth
synth: functions infra-app $(CDK) ## Write the templates of the stack to .cache/infra/cdk.out (CONTEXT='-c key=value ...')
	$(CDK_RUN) synth --quiet $(CONTEXT)

.PHONY: deploy
deploy: functions infra-app $(CDK) ## Deploy the stack (CONTEXT='-c jwtIssuer=... -c jwtAudience=... -c stage=...'); once per account: BOOTSTRAP=1
	$(if $(BOOTSTRAP),$(CDK_RUN) bootstrap $(CONTEXT))
	$(CDK_RUN) deploy --all $(CONTEXT)

.PHONY: destroy
destroy: functions infra-app $(CDK) ## Destroy the stack (stage dev and dev-* with their data, others without; the bucket must be empty)
	$(CDK_RUN) destroy --all $(CONTEXT)

.PHONY: infra-test
infra-test: ## Test the stack: what it has, what it may do, and the rules of cdk-nag
	@command -v node >/dev/null || { echo "make infra-test: the CDK needs node" >&2; exit 1; }
	@mkdir -p $(INFRA)
	cd infra && $(INFRA_ENV) $(TEST) $(TESTFLAGS) ./...

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
	cd infra && go mod tidy -diff
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
	rm -rf bin dist $(CACHE)

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
