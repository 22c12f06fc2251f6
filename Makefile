# GNU make. Every target runs a script in scripts/ (one in Benchmarks/). The scripts work without
# make too.
#
# SCRATCH=folder builds in that folder instead of .build.

# The targets share one build folder, so parallel targets would only wait for each other.
.NOTPARALLEL:
.DEFAULT_GOAL := help

SCRATCH ?= .build
export SCRATCH

.PHONY: help setup build release install run demo demo-fleet unit deb dist test test-clients test-packages test-jobs test-record test-deb test-rpm test-container image test-metrics test-goaccess test-tls test-h2-attacks test-page test-traces test-upgrades test-schema test-switches h2-cases simulate crash backup soak fleet cluster pairs restarts upgrade compare mutants fuzz benchmark benchmark-gateway benchmark-rules benchmark-layer benchmark-fleet benchmark-record benchmark-store traces docs api lint format clean

help: ## Show this list (the default)
	@echo "Holdfast: a caching network gateway with an on-disk offline store"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install missing packages that builds and tests need (Debian, Ubuntu)
	@scripts/setup --tests

build: ## Build the libraries and the tools
	@scripts/build

release: ## Build optimized tools; on Linux, with Swift's runtime linked in
	@scripts/release

install: ## Install the tools (and the systemd unit) into PREFIX (/usr/local), below DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/release --install

deb: ## Build a Debian package of the tools, service and manual in SCRATCH/deb
	@scripts/deb

dist: ## Make the files of a release in SCRATCH/dist: package, tarball, SBOM, checksums; OPTIONS=--compare
	@scripts/dist $(OPTIONS)

run: ## Run the gateway in front of a sample origin, or of ORIGIN=https://…, until Ctrl-C
	@scripts/run

demo-fleet: ## Show two gateways that share purges through Redis; ends by itself
	@scripts/demo-fleet

demo: ## Show a feed that outlives its origin; ends by itself
	@scripts/demo

test: ## Check everything: format, warnings, all tests, a consumer package
	@scripts/test

test-clients: ## Run curl, requests, Node's fetch and pip through the gateway, online and offline
	@scripts/test-clients

test-packages: ## Run package managers, git, Chromium, Django, PHP and Node on local replicas, online and offline
	@scripts/test-packages

test-jobs: ## Record and replay SDKs of paid APIs, package managers and git; damage jobs, kill recordings
	@scripts/test-jobs $(JOBS)

test-record: ## Record and replay tools without configuring them, and try to use their proxy from elsewhere
	@scripts/test-record $(RECORD)

test-page: ## Test the status page in headless Chromium, on a stub and on the gateway
	@scripts/page

test-upgrades: ## Tunnel 1,000 WebSockets over HTTP/1.1 and HTTP/2, drain them; test haproxy's PROXY protocol
	@scripts/test-upgrades

test-schema: ## Validate the example configurations by 'holdfast schema', with jsonschema from PyPI
	@scripts/test-schema

test-traces: ## Parse the recorded spans with OpenTelemetry's library from PyPI
	@Tests/Tracing/decode

test-deb: ## Install, use, upgrade and purge the Debian package in a clean system; needs root
	@scripts/test-deb

test-rpm: ## Build an RPM and check its files and requirements (Debian: rpm)
	@scripts/test-rpm

test-container: ## Check the Containerfile with hadolint, and that the files it names exist
	@scripts/test-container

image: ## Build the container image on debootstrap systems, and run it; needs root
	@scripts/image

test-metrics: ## Check the alerts and the dashboard with promtool, and test the alerts
	@scripts/test-promtool

test-goaccess: ## Check that goaccess can read the access log with the manual's format string
	@scripts/test-goaccess

test-tls: ## Check the gateway's TLS with testssl.sh: no finding above "low"
	@scripts/test-tls

test-h2-attacks: ## Attack the built gateway over HTTP/2 with h2 and hyperframe, and measure it
	@scripts/test-h2-attacks

test-switches: ## Test the gateway and the request layer with the fast paths turned off
	@scripts/test-switches

h2-cases: ## Send raw HTTP/2 frames to the built gateway, nginx and HAProxy, and compare
	@scripts/h2-cases

simulate: ## Run the engine's simulation with SEEDS (200) seeds, starting at FIRST (1)
	@scripts/simulate

crash: ## Kill the store's process, fail its disk and cut its power, ROUNDS (1000) times
	@scripts/crash

backup: ## Back up a store under load and kill the backup or the writer, BACKUPS (50) times
	@scripts/backup

soak: ## Load the built gateway with faults for SECONDS (600); an oracle checks every response
	@scripts/soak $(or $(SECONDS),600) $(or $(SEED),1)

fleet: ## Check gateways that share purges, under faults, for SECONDS (600)
	@scripts/fleet $(or $(SECONDS),600) $(or $(SEED),1)

cluster: ## Deploy a fleet as docs/kubernetes.md says, in network namespaces, and update it under load; needs root
	@scripts/cluster

pairs: ## Look for leaks that need two settings, for SECONDS (600)
	@scripts/pairs $(or $(SECONDS),600) $(or $(SEED),1)

restarts: ## Restart the built gateway under load: none of REQUESTS (10000) may fail
	@scripts/restarts $(or $(REQUESTS),10000)

upgrade: ## Upgrade the gateway under load from the build in Tests/Upgrade/BASE and old stores; downgrade
	@scripts/upgrade $(OPTIONS)

compare: ## Check that two programs respond alike, byte for byte: OLD=file NEW=file
	@scripts/compare-programs "$(OLD)" "$(NEW)"

fuzz: ## Run every fuzzer for SECONDS each (60)
	@scripts/fuzz $(or $(SECONDS),60)

benchmark: ## Measure decisions, keys and parsers, and check the limits
	@scripts/benchmark

benchmark-gateway: ## Compare the gateway with nginx, HAProxy, Varnish and Traffic Server
	@Benchmarks/gateway.sh

benchmark-rules: ## Measure how long finding a request's rules takes
	@scripts/benchmark-rules

benchmark-layer: ## Compare the request layer with plain AsyncHTTPClient
	@scripts/benchmark-layer

benchmark-fleet: ## Measure gateways that share purges, and check the limits
	@Benchmarks/fleet.sh

benchmark-record: ## Compare recording and replaying with mitmproxy's server replay
	@scripts/benchmark-record

traces: ## Compare the eviction policy with LRU, S3-FIFO, W-TinyLFU, GDSF and SIEVE on traces
	@scripts/traces

benchmark-store: ## Compare the store with C, diskcache and requests-cache
	@scripts/benchmark-store

unit: ## Check the systemd units; installs systemd-analyze if it is missing
	@scripts/unit

mutants: ## Break rules on purpose and check that their tests fail; takes 5 to 15 hours
	@scripts/mutants

docs: ## Write the libraries' documentation to SCRATCH/docs
	@scripts/docs

api: ## Write the public API of the libraries to docs/api
	@scripts/api

lint: ## Check the format of every Swift file
	@scripts/lint

format: ## Fix the format of every Swift file
	@scripts/lint --fix

clean: ## Remove the build folder
	@swift package --scratch-path "$(SCRATCH)" clean
	@rm -rf "$(SCRATCH)/consumer"
