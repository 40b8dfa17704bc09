# Ladder: build, test and try. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN     := $(CURDIR)/bin
LADDER  := $(BIN)/ladder
LINT    := go tool -modfile=tools/go.mod golangci-lint
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export GOTOOLCHAIN := local
# With cgo, a library of the confinement has every program linked by the C compiler,
# which takes a third longer.
export CGO_ENABLED ?= 0
# Kustomize can load plugins written in Go, which Ladder never does. A program that can
# keeps every exported method, and a table of their names: a quarter of its size.
# Without -trimpath every clone compiles the packages anew, since their folder is part of them.
export GOFLAGS := $(GOFLAGS) -tags=kustomize_disable_go_plugin_support -trimpath
# How the tests run: `make test TEST="gotestsum --"` has another program print them.
TEST ?= go test

# A test binary without debugging information links in half the time; stack traces stay.
# The static checks vet. With GOGC=400 a plane takes a tenth less CPU time, under the real
# Argo CD a quarter, and the tests of the command a quarter; a plane has 960 MB instead of 570.
QUICKLY := -ldflags=-w -vet=off

# The packages that take longest begin first, and are no reason for a core to wait: their
# rehearsals wait for simulated delays. With the real Argo CD two more wait most of the
# time, one of them until test/e2e is done.
ARGOCD  := $(words $(wildcard $(BIN)/ladder-argocd))
LONGEST := -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1 + 2 \* $(ARGOCD)) ./test/e2e $(if $(filter 1,$(ARGOCD)),./internal/argocd/engine ./test/argocd) ./test/cluster ./internal/run/bootstrap ./internal/cli

.PHONY: help build noplane image release-snapshot argocd parity test test-short test-race test-long lint generate verify bench picture demo fmt clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/ladder (the first build compiles a Kubernetes control plane: 5-8 minutes on 2 cores)
	@mkdir -p $(BIN)
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o $(LADDER) ./cmd/ladder
	@ln -sf ladder $(BIN)/kubectl-ladder

noplane: ## Build bin/ladder-noplane, the command without a control plane: no rehearse, half of the size
	@mkdir -p $(BIN)
	go build -tags noplane,kustomize_disable_go_plugin_support -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/ladder-noplane ./cmd/ladder

# The builds that are packed, for the image and the archives: stripped, static, without a
# control plane. The same commit gives the same bytes: paths and times of this machine
# are in none of them, nor what a worktree or a shallow clone has Go say of the commit.
RELEASE := cd tools && go run ./release
PACKED  := -version "$(VERSION)" -revision "$$(git rev-parse HEAD)" -time "$$(git log -1 --format=%ct)"
packed   = rm -rf $(BIN)/$(1) && $(foreach p,$(2),echo "building ladder for $(p)" && \
	GOOS=$(word 1,$(subst -, ,$(p))) GOARCH=$(word 2,$(subst -, ,$(p))) go build -buildvcs=false -tags noplane,kustomize_disable_go_plugin_support \
	-ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/$(1)/$(p)/ladder ./cmd/ladder &&) true

image: ## Make bin/image, the image that runs smokes, for amd64 and arm64, without Docker; PUSH=REGISTRY/NAME:TAG pushes it (the first takes 5 minutes)
	@$(call packed,packed/image,linux-amd64 linux-arm64)
	@$(RELEASE) image -binaries $(BIN)/packed/image -output $(BIN)/image $(PACKED) $(if $(PUSH),-push "$(PUSH)")

release-snapshot: ## Make bin/archives: the command without a control plane for Linux and macOS, lists of parts, checksums (the first takes 15 minutes)
	@$(call packed,packed/archives,linux-amd64 linux-arm64 darwin-amd64 darwin-arm64)
	@$(RELEASE) archives -binaries $(BIN)/packed/archives -output $(BIN)/archives $(PACKED)

argocd: ## Build bin/ladder-argocd, the real Argo CD for rehearsals (the first build takes 4-6 minutes on 2 cores)
	@mkdir -p $(BIN)
	cd argocd && go mod download github.com/argoproj/argo-cd/v3 && \
		install -m 644 "$$(go list -m -f '{{.Dir}}' github.com/argoproj/argo-cd/v3)"/manifests/crds/*-crd.yaml crds && \
		go build -ldflags "-s -w -X github.com/argoproj/argo-cd/v3/common.version=$$(go list -m -f '{{.Version}}' github.com/argoproj/argo-cd/v3 | tr -d v)" -o $(BIN)/ladder-argocd . && \
		go build -ldflags "-s -w" -o $(BIN)/ladder-argocd-read ./read && \
		go build -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=$$(go list -m -f '{{.Version}}' helm.sh/helm/v3)" -o $(BIN)/ladder-argocd-helm helm.sh/helm/v3/cmd/helm

parity: argocd ## Compare what Ladder reads with what Argo CD's own code makes of it: make parity REPOSITORIES="DIR..."
	go run ./test/parity -bin $(BIN) $(or $(REPOSITORIES),examples/zerotouch)

test: ## Run every test: units, simulations, and end to end on the embedded control plane
	GOGC=400 $(TEST) $(QUICKLY) -timeout 60m $(LONGEST) ./...

# What asks workers or clusters takes 1 to 3 s to link, besides what it does. Of the packages
# that ask workers, the quick tests are those of the command's scenarios, of reading and
# of understanding.
QUICK := go list -test -f '{{.ImportPath}} {{.Deps}}' ./internal/... | \
	awk '/^[^ ]*\.test / && !/ladder\/internal\/confine\/evaluate / && !/ k8s\.io\/client-go\/kubernetes/ {sub(/\.test$$/, "", $$1); print $$1}'

test-short: ## Run the quick tests: no control plane, nothing that takes long to link
	GOGC=400 go test -short $(QUICKLY) ./internal/cli ./internal/repo ./internal/analysis $$($(QUICK))

test-race: ## Run the unit tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m $$(go list ./... | grep -v /test/)

test-long: ## Run whole what every run of the tests does a tenth of: schedules, kills, faults, examples under Argo CD, random platforms; then fuzz
	go test -v -timeout 60m ./internal/core/rollout -run Simulation -schedules=1000000
	go test -v -timeout 60m ./internal/argocd/engine -run 'Faults|TwoDrivers' -schedules=2000
	go test -v -timeout 120m ./test/e2e -run 'Killed|Faulty|ExamplesRollOut|Mistakes|FailureStops' -long -kills=200
	go test -v -timeout 60m ./test/cluster -run Kills -kills=60
	go test -v -timeout 90m ./test/argocd -run 'ExamplesBecomeHealthy|Mistakes|DrivenByEdges|HealthCheck' -long
	go test -v -timeout 60m ./test/parity -run Random -platforms=500 -seed=$$(date +%s)
	./test/fuzz.sh 60s
	$(LINT) run ./...

# Checks that follow calls read the source of all that a package imports. With the 1,300
# packages that only a control plane has they take three times as long (490 s of CPU time
# instead of 170) and 8 GB. So the two packages that link it have here the checks that
# look at a package alone; `make test-long` gives them all.
PLANE := ./cmd/ladder ./internal/plane/controlplane
ALONE := copyloopvar,depguard,durationcheck,errcheck,errname,errorlint,forbidigo,gocritic,ineffassign,intrange,makezero,misspell,nolintlint,perfsprint,reassign,revive,unconvert,unused,usestdlibvars

lint: ## Static checks
	GOGC=200 $(LINT) run $$(go list -f '{{.Dir}}' ./... | sed 's#^$(CURDIR)/#./#' | grep -vxF $(addprefix -e ,$(PLANE)))
	$(LINT) run --enable-only $(ALONE) $(PLANE)

fmt: ## Format the Go code
	gofmt -w $$(git ls-files '*.go')

generate: ## Write the generated files: command reference, pages of rules, schemas, licences of others
	go test ./internal/cli ./internal/core/report ./internal/schema ./internal/plane/prebaked -update
	cd tools && go run ./licences

verify: lint ## Fail when formatting, static checks, modules or generated files are off
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go mod tidy -diff
	cd tools && go mod tidy -diff && go vet ./licences ./release && go test ./licences ./release && go run ./licences -check
	cd test/peers && go mod tidy -diff
	cd argocd && go mod tidy -diff && go vet ./...

bench: build argocd ## Measure speed as ratios against peers and bounds of the same run; BASE=BINARY compares lint with an older build too, which is to be built alike
	LADDER_BINARY=$(LADDER) go run ./test/bench $(if $(BASE),-base "$(BASE)")

picture: build ## Draw the pictures of the README from a real plan and rehearsal
	PATH=$(BIN):$$PATH go run ./test/picture -o docs/rehearse.svg -- ladder rehearse examples/ameide --environment dev --progress none
	$(LADDER) plan examples/ameide --environment dev --format svg --output docs/ladder.svg

demo: build ## Rehearse the example platform on the embedded control plane
	$(LADDER) rehearse examples/ameide --environment dev

clean: ## Remove what the build made
	rm -rf $(BIN)
