# SPDX-License-Identifier: Apache-2.0
# Georep's one entry to building, testing and measuring. Every target only calls a script of build/ or a tool, so that
# each can be run by hand as well; outputs go to build/lib, build/dist, build/reports and build/data (all git-ignored).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO         ?= go
MVN        := build/mvn.sh
GO_SOURCES := $(shell find core cgo cmd internal tests -name '*.go' 2>/dev/null)
C_SOURCES  := $(shell find cgo include java-shim/nativelib/src -name '*.[ch]' -o -name '*.map' 2>/dev/null)
J_SOURCES  := $(shell find java-shim -name target -prune -o \( -name '*.java' -o -name pom.xml -o -name '*.yml' \) -print 2>/dev/null)
VERSION    := 0.1.0

# knobs
SEEDS    ?= 2000
FIRST    ?= 1
MESSAGES ?=
FUZZTIME ?= 60s
BENCH    ?= .

.PHONY: help lib java cli test test-all lint fmt bench bench-check bench-idle bench-converge sim sim-mutants fuzz demo demo-three demo-bootstrap dist clean

help: ## list the targets (this text)
	@echo "Georep $(VERSION): make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

lib: build/lib/libgeorep.so ## build the native library build/lib/libgeorep.so (C ABI and JNI)

build/lib/libgeorep.so: build/native.sh go.mod go.sum include/georep.h $(GO_SOURCES) $(C_SOURCES)
	@mkdir -p build/lib
	bash build/native.sh

cli: build/lib/georep ## build the command build/lib/georep

build/lib/georep: go.mod go.sum $(GO_SOURCES)
	@mkdir -p build/lib
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/georep

java: build/data/java.stamp ## build the broker plugin's jars (Maven, offline where possible)

build/data/java.stamp: build/lib/libgeorep.so $(J_SOURCES)
	@mkdir -p build/data
	$(MVN) package -Dmaven.test.skip=true
	@touch $@

test: ## run what fits in 15 minutes: Go with -race, short sim, ABI hosts, Java, two clusters
	bash build/test.sh short

test-all: ## run everything: test, then long sim, mutants, fuzz, the slow two-cluster tests, the demo
	bash build/test.sh all

lint: ## check format and mistakes: Go, Java, C, shell, licence lines, file sizes
	bash build/lint.sh

fmt: ## format Go and C sources in place
	bash build/fmt.sh

bench: java ## measure against the peers (PARTS="core micro e2e"); rows go to build/reports/bench.json
	BENCH='$(BENCH)' bash build/bench.sh

bench-check: ## hold the last report against benchmarks/baseline.json: no ratio may lose more than 20 %
	$(GO) run ./benchmarks/cmd/report -check benchmarks/baseline.json

bench-idle: java ## measure the idle cost of 1,000 replicated segments (long)
	bash build/bench-idle.sh

bench-converge: java ## measure what 1,000 idle topics on three clusters tell each other (long)
	bash build/bench-converge-idle.sh

sim: ## simulate SEEDS=n seeds from FIRST=k
	$(GO) run ./tests/sim/cmd/sim -seeds $(SEEDS) -first $(FIRST)

sim-mutants: ## plant mistakes in the machines; each must be caught
	$(GO) run -tags mutant ./tests/sim/cmd/mutants

fuzz: ## fuzz every parser and codec for FUZZTIME=60s each
	bash build/fuzz.sh $(FUZZTIME)

demo: java cli ## two clusters in one JVM replicate under load; MESSAGES=n scales it
	MESSAGES="$(MESSAGES)" bash build/demo.sh

demo-three: java cli ## three clusters with unrelated layouts end on one, under load
	MESSAGES="$(MESSAGES)" bash build/demo.sh DemoThree

demo-bootstrap: java cli ## a remote starts behind what is offloaded: what is skipped, what is sent, the manifest
	MESSAGES="$(MESSAGES)" bash build/demo.sh DemoBootstrap

dist: java cli ## pack what a broker and a native host need into build/dist
	bash build/dist.sh $(VERSION)

clean: ## remove what the targets made
	rm -rf build/lib build/dist build/reports build/data
	find java-shim tests -name target -type d -prune -exec rm -rf {} +
