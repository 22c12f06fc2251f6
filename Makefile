# GNU make. Every target runs a script in scripts/ (one in Benchmarks/). The scripts work without
# make too.
#
# SCRATCH=folder builds in that folder instead of .build.

# The steps share one build folder, so two at once would only wait for each other.
.NOTPARALLEL:
.DEFAULT_GOAL := help

SCRATCH ?= .build
export SCRATCH

.PHONY: help setup build release install run demo demo-fleet unit deb test test-clients test-packages test-deb test-container test-metrics test-goaccess test-tls test-h2-attacks test-page test-traces test-upgrades test-switches h2-cases simulate crash soak fleet pairs restarts compare mutants fuzz benchmark benchmark-gateway benchmark-rules benchmark-layer benchmark-fleet benchmark-store docs lint format clean

help: ## Show this list (the default)
	@echo "Holdfast: a caching network gateway with an on-disk offline store"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what builds and tests need and is missing (Debian, Ubuntu)
	@scripts/setup --tests

build: ## Build the libraries and the tools
	@scripts/build

release: ## Build the tools for use: optimised, on Linux with Swift's runtime
	@scripts/release

install: ## Install the tools (and the systemd unit) into PREFIX (/usr/local), below DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/release --install

deb: ## Build a Debian package of tools, service and manual into SCRATCH/deb
	@scripts/deb

run: ## Run the gateway in front of a sample origin, or of ORIGIN=https://…; Ctrl-C ends it
	@scripts/run

demo-fleet: ## See two gateways share their purges by a Redis; ends by itself
	@scripts/demo-fleet

demo: ## See it work: a feed outlives its origin; ends by itself
	@scripts/demo

test: ## Check everything: format, warnings, all tests, a consumer package
	@scripts/test

test-clients: ## Run curl, requests, Node's fetch and pip against the gateway, offline too
	@scripts/test-clients

test-packages: ## Run pip, npm, cargo, apt, git, skopeo, Chromium on local replicas, offline too
	@scripts/test-packages

test-page: ## Test the control plane's page in headless Chromium, on a stub and on the gateway
	@scripts/page

test-upgrades: ## Pass 1,000 WebSockets on over HTTP/1.1 and HTTP/2, and drain them; haproxy's PROXY protocol
	@scripts/test-upgrades

test-traces: ## Read the recorded spans with the parser of OpenTelemetry, from PyPI
	@Tests/Tracing/decode

test-deb: ## Install, use, upgrade and purge the Debian package in a clean system; needs root
	@scripts/test-deb

test-container: ## Check the Containerfile with hadolint, and that its files exist
	@scripts/test-container

test-metrics: ## Check alerts and dashboard with promtool, and run the tests of the alerts
	@scripts/test-promtool

test-goaccess: ## Check that goaccess reads the access log with the format string of the manual
	@scripts/test-goaccess

test-tls: ## Check TLS of a gateway with testssl.sh: no finding above "low"
	@scripts/test-tls

test-h2-attacks: ## Attack the built gateway by HTTP/2 with h2 and hyperframe, and measure it
	@scripts/test-h2-attacks

test-switches: ## Run the gateway's and the layer's tests with the fast parts turned off
	@scripts/test-switches

h2-cases: ## Play raw frames of HTTP/2 to the built gateway, nginx and HAProxy, and compare
	@scripts/h2-cases

simulate: ## Run the engine's simulation with SEEDS seeds (200) from FIRST (1) on
	@scripts/simulate

crash: ## Kill the store's process, fail its disk, cut its power: ROUNDS rounds (1000)
	@scripts/crash

soak: ## Load the built gateway for SECONDS (600), with faults; an oracle judges every response
	@scripts/soak $(or $(SECONDS),600) $(or $(SEED),1)

fleet: ## Check the history of gateways that share purges, under faults, for SECONDS (600)
	@scripts/fleet $(or $(SECONDS),600) $(or $(SEED),1)

pairs: ## Look for what breaks between two settings, for SECONDS (600), with an origin that lies
	@scripts/pairs $(or $(SECONDS),600) $(or $(SEED),1)

restarts: ## Restart the built gateway under load: 0 of REQUESTS (10000) may be refused
	@scripts/restarts $(or $(REQUESTS),10000)

compare: ## Check that two programs respond alike, byte for byte: OLD=file NEW=file
	@scripts/compare-programs "$(OLD)" "$(NEW)"

fuzz: ## Run every fuzzer for SECONDS each (60)
	@scripts/fuzz $(or $(SECONDS),60)

benchmark: ## Measure decisions, keys and parsers against their limits
	@scripts/benchmark

benchmark-gateway: ## Measure the gateway beside nginx, HAProxy, Varnish, Traffic Server
	@Benchmarks/gateway.sh

benchmark-rules: ## Measure the time to find the rules of a request
	@scripts/benchmark-rules

benchmark-layer: ## Measure the request layer beside plain AsyncHTTPClient
	@scripts/benchmark-layer

benchmark-fleet: ## Measure gateways that share purges, against their limits
	@Benchmarks/fleet.sh

benchmark-store: ## Measure the store beside C, diskcache and requests-cache
	@scripts/benchmark-store

unit: ## Check the systemd unit; installs systemd-analyze if it is missing
	@scripts/unit

mutants: ## Break rules on purpose and check that their tests fail; takes hours
	@scripts/mutants

docs: ## Write the library's documentation into SCRATCH/docs
	@scripts/docs

lint: ## Check the format of every Swift file
	@scripts/lint

format: ## Correct the format of every Swift file
	@scripts/lint --fix

clean: ## Remove the build
	@swift package --scratch-path "$(SCRATCH)" clean
	@rm -rf "$(SCRATCH)/consumer"
