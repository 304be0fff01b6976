#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench-core.sh [FLAG…]: the part of `make bench` that needs no JVM, to build/reports/bench.d/core.json (FLAGs are
# those of benchmarks/cmd/core); and shortly the Go benchmarks that match BENCH=., to build/reports/bench.txt. TAGS are
# those of build/native.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reports
make -s lib
# shellcheck source=build/codecs.sh
. build/codecs.sh # the library's codecs
go build -tags "${TAGS-},$codec_tags" -o build/lib/bench-core ./benchmarks/cmd/core
# liblz4, the peer, is looked for when it runs.
"${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude -o build/lib/bench-native benchmarks/native/*.c \
    -Lbuild/lib -lgeorep -Wl,-rpath,"$PWD/build/lib" -ldl
build/lib/bench-core -native build/lib/bench-native "$@"

out=build/reports/bench.txt
{ cat build/reports/bench-machine.txt 2>/dev/null || true; } >"$out"
go test -tags "${TAGS-},$codec_tags" -run '^$' -bench "${BENCH:-.}" -benchtime 100ms -benchmem ./core/... ./benchmarks/... |
    sed '/^PASS$/d; /no test files/d; /^ok .*/d' | tee -a "$out"
