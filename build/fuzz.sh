#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/fuzz.sh TIME: runs every FuzzX of the Go packages for TIME each, one after the other. A finding stops the run;
# Go leaves it under the package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-60s}
# With the C codecs, which FuzzNative… holds against Go's.
# shellcheck source=build/codecs.sh
. build/codecs.sh
n=0
while read -r pkg; do
    while read -r name; do
        echo "fuzz $pkg $name for $time"
        go test -tags "$codec_tags" -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$pkg"
        n=$((n + 1))
    done < <(go test -tags "$codec_tags" -list '^Fuzz' "$pkg" | grep '^Fuzz' || true)
done < <(go list ./core/... ./cgo/... ./tests/... 2>/dev/null)
[ $n -gt 0 ] || { echo "fuzz FAILED: no fuzz target found"; exit 1; }
echo "fuzz ok: $n targets, $time each, no finding"
