# Every target is a script in scripts/, which can also be run without make. GNU make.
#
# SCRATCH=folder builds somewhere else than in .build.

# The steps share one build folder: running two at once would only make them wait for each other.
.NOTPARALLEL:
.DEFAULT_GOAL := help

SCRATCH ?= .build
export SCRATCH

.PHONY: help setup build run test mutants lint format clean

help: ## Show this list (the default)
	@echo "Holdfast: a caching network gateway with an on-disk offline store"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what the build needs and is missing here (Debian, Ubuntu)
	@scripts/setup

build: ## Build the libraries and the tools
	@scripts/build

run: ## See it work: a feed outlives its origin; ends by itself
	@scripts/demo

test: ## Check everything: format, warnings, all tests, a consumer package
	@scripts/test

mutants: ## Break rules on purpose and see their tests fail; takes half an hour
	@scripts/mutants

lint: ## Check the format of every Swift file
	@scripts/lint

format: ## Correct the format of every Swift file
	@scripts/lint --fix

clean: ## Remove what was built
	@swift package --scratch-path "$(SCRATCH)" clean
	@rm -rf "$(SCRATCH)/consumer"
