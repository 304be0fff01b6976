#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench.sh PATTERN: Go benchmarks to build/reports/bench.txt, with the machine's description on top; the last
# reports of bench-idle and bench-converge-idle are repeated below, because those take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reports
out=build/reports/bench.txt
{
    echo "# $(git rev-parse --short HEAD 2>/dev/null || echo unversioned), $(go version), $(nproc) cores"
    grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /# /' || true
} >"$out"
go test -run '^$' -bench "${1:-.}" -benchmem ./benchmarks/... | tee -a "$out"
for long in bench-idle bench-converge-idle; do
    if [ -f "build/reports/$long.txt" ]; then
        echo "# last $long:" | tee -a "$out"
        tee -a "$out" <"build/reports/$long.txt"
    fi
done
echo "bench ok: $out"
