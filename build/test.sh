#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/test.sh short|all: the test stages, each ended by its time, the last line "test ok" or what failed.
# short fits in 15 minutes on two cores with empty caches; all adds what is long.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-short}
case $kind in short | all) ;; *) echo "usage: test.sh short|all" >&2; exit 2 ;; esac
# shellcheck source=build/stage.sh
. build/stage.sh
STAGES="test"
mkdir -p build/reports build/data
lib=$PWD/build/lib/libgeorep.so

go_race() {
    # cgo/ is tested through its C host under a sanitizer: -race of a c-archive's package would test Go's runtime.
    go test -race -timeout 10m ./... || return 1
    # the codecs of the library; without the tag they are Go's
    go test -race -tags nativecodecs -timeout 10m ./core/codec ./core/rebatch || return 1
    go test -tags nativecodecs -timeout 5m ./core/codec || return 1
    # what the detector's own checks exclude: a peer that is unkind to pointers, allocation counts
    go test -timeout 5m ./core/keyhash ./core/codec ./core/entry ./core/placement ./core/rebatch ./core/window ./tests/bounds || return 1
    go test -run '^$' -bench . -benchtime 1x ./benchmarks/... >/dev/null # each once: no benchmark rots
}

native() { make --no-print-directory lib cli; } # the two-cluster tests run the command, too

abi() { LIB=build/lib bash tests/abi/run.sh; }

portable() { LIB=build/lib bash tests/abi/portable.sh; }

# What is built where the portable recipe does not apply.
plain() { bash build/native.sh --plain build/data/plain && LIB=build/data/plain ABI_ASAN=0 bash tests/abi/run.sh; }

java_unit() {
    find java-shim -path '*/target/surefire-reports/*' -delete 2>/dev/null || true
    TAGS=panics bash build/native.sh build/data/panics || return 1
    build/mvn.sh package -Dgeorep.lib="$lib" -Dgeorep.panics="$PWD/build/data/panics/libgeorep.so" || return 1
    bash build/surefire.sh java-shim/nativelib java-shim/plugin tests/differential
}

differential() {
    find tests/differential -path '*/target/surefire-reports/*' -delete 2>/dev/null || true
    build/mvn.sh test -pl ../tests/differential -am -Dgeorep.lib="$lib" -Dtest=DifferentialTest \
        -Dsurefire.failIfNoSpecifiedTests=false -Ddifferential.entries=100000 || return 1
    bash build/surefire.sh tests/differential
}

# two_clusters ARGS…: the tests of java-shim/it; real brokers, two clusters in one JVM.
two_clusters() {
    find java-shim/it -path '*/target/surefire-reports/*' -delete 2>/dev/null || true
    build/mvn.sh package -DskipTests -Dit -Dgeorep.lib="$lib" "$@" || return 1
    bash build/surefire.sh java-shim/it
}

crash_loop() { make --no-print-directory java && bash build/crash-loop.sh; }

# Every client writes, the core cuts, every client reads.
interop() { make --no-print-directory java && bash build/interop.sh -v; }

stage "native library and command" native
stage "go, with the race detector" go_race
if [ "$kind" = short ]; then
    stage "simulator, 600 seeds" make --no-print-directory sim SEEDS=600
else
    stage "simulator, 2000 seeds" make --no-print-directory sim SEEDS=2000
    stage "fuzz" make --no-print-directory fuzz FUZZTIME="${FUZZTIME:-60s}"
fi
stage "simulator's mutants" make --no-print-directory sim-mutants
stage "C and Python hosts" abi
stage "library on glibc and musl" portable
stage "java units" java_unit
stage "two clusters" two_clusters
if [ "$kind" = all ]; then
    stage "differential, 100000 entries" differential
    stage "library for one libc" plain
    stage "two clusters, slow" two_clusters -Dit.groups=slow -Dit.excluded=
    stage "crash loop" crash_loop
    stage "clients' matrix" interop
    stage "demo" make --no-print-directory demo
    stage "demo of three" make --no-print-directory demo-three
    stage "demo of a start behind tiered storage" make --no-print-directory demo-bootstrap
    stage "demo, sabotaged" bash build/demo-sabotage.sh
fi
stage_end
