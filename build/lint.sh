#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All format and mistake checks. Runs every check even when one fails, so that one run shows everything.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=build/stage.sh
. build/stage.sh
STAGES="lint"
KEEP_GOING=1
bin=$PWD/build/data/bin
mkdir -p "$bin" build/data build/reports

tools() {
    bash build/need.sh clang-format:clang-format shellcheck:shellcheck gcc:gcc \
        liblz4-dev:liblz4.a libzstd-dev:libzstd.a libdeflate-dev:libdeflate.a
    # Rebuilt only when the pinned version changes: the stamp is the tools module itself.
    if [ ! -x "$bin/golangci-lint" ] || ! cmp -s build/tools/go.sum "$bin/go.sum"; then
        echo "building golangci-lint (about two minutes the first time)"
        (cd build/tools && go build -o "$bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
        cp build/tools/go.sum "$bin/go.sum"
    fi
    "$bin/golangci-lint" version
}

go_lint() {
    local bad rc=0
    bad=$(gofmt -l core cgo cmd internal tests benchmarks 2>/dev/null || true)
    [ -z "$bad" ] || { printf "gofmt: %s\n" "$bad"; rc=1; }
    go vet ./... || rc=1
    go vet -tags mutant ./core/... ./tests/sim/... || rc=1
    go vet -tags nativecodecs ./core/codec || rc=1
    GOLANGCI_LINT_CACHE=$PWD/build/data/golangci "$bin/golangci-lint" run ./... || rc=1
    GOLANGCI_LINT_CACHE=$PWD/build/data/golangci "$bin/golangci-lint" run --build-tags nativecodecs ./core/codec || rc=1
    return $rc
}

# The pure-Go core must stay usable without a C compiler.
go_nocgo() {
    CGO_ENABLED=0 go build ./core/... ./cmd/...
}

c_files() {
    find cgo include java-shim/nativelib/src tests benchmarks build/portable -name '*.[ch]' -not -path '*/target/*' 2>/dev/null | sort
}

c_lint() {
    local files inc jh
    mapfile -t files < <(c_files)
    [ ${#files[@]} -gt 0 ] || { echo "no C sources"; return 77; }
    clang-format --dry-run -Werror "${files[@]}" || return 1
    jh=$(build/javahome.sh)
    inc=(-Iinclude -I"$jh/include" -I"$jh/include/linux")
    for f in "${files[@]}"; do
        case $f in
        # the public header must compile alone, in C11 and in C++
        *.h) gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only "${inc[@]}" -x c "$f" || return 1 ;;
        *) gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only "${inc[@]}" "$f" || return 1 ;;
        esac
    done
    if command -v g++ >/dev/null; then
        g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${inc[@]}" -x c++ include/georep.h || return 1
    fi
    echo "${#files[@]} C files"
}

java_lint() {
    build/mvn.sh -f build/lint/pom.xml validate
}

sh_lint() {
    local files
    mapfile -t files < <({ git ls-files '*.sh'; echo .ci/run; } | sort -u)
    shellcheck -S warning -x "${files[@]}" || return 1
    echo "${#files[@]} shell scripts"
}

stage tools tools
stage go go_lint
stage go-without-cgo go_nocgo
stage c c_lint
stage java java_lint
stage shell sh_lint
stage house bash build/lint/house.sh
stage_end
