#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench.sh: runs the PARTS="core micro e2e" of the benchmarks, build/bench-PART.sh each, then puts their rows
# together in build/reports/bench.json and prints them, with the machine's description on top (bench-machine.txt).
# A part that is left out keeps the rows of its last run, as do bench-idle and bench-converge, which take minutes. A part
# that fails has none, and fails the run once the others are done.
#
#   BENCH=Pattern   Go benchmarks that the core part repeats
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reports/bench.d
read -ra parts <<<"${PARTS:-core micro e2e}"

# where and from what the figures come
machine() {
    local java=${JAVA_HOME:+$JAVA_HOME/bin/}java commit
    commit=$(git rev-parse --short HEAD 2>/dev/null || echo unversioned)
    [ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit and changes"
    echo "# commit $commit, $(date -u +%Y-%m-%dT%H:%MZ), parts: ${parts[*]}"
    echo "# $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | sed -n 1p), $(nproc) cores, $(uname -sm)"
    echo "# $(go version), $("$java" -version 2>&1 | sed -n 1p)"
    echo "# load when it began: $(cut -d' ' -f1-3 /proc/loadavg)"
}
machine >build/reports/bench-machine.txt

failed=()
for part in "${parts[@]}"; do
    printf '\n==== bench: %s\n' "$part"
    began=$SECONDS
    rm -f "build/reports/bench.d/$part.json"
    if bash "build/bench-$part.sh" </dev/null && [ -s "build/reports/bench.d/$part.json" ]; then
        printf -- '---- %s: ok (%d s)\n' "$part" $((SECONDS - began))
    else
        printf -- '---- %s: FAILED (%d s)\n' "$part" $((SECONDS - began))
        failed+=("$part")
    fi
done
echo "# load when it ended: $(cut -d' ' -f1-3 /proc/loadavg)" >>build/reports/bench-machine.txt

echo
go run ./benchmarks/cmd/report || failed+=(report)
if [ ${#failed[@]} -gt 0 ]; then
    echo "bench FAILED: ${failed[*]} ($SECONDS s)"
    exit 1
fi
