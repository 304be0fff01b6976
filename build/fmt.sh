#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats Go and C in place; Java has rules but no formatter.
set -euo pipefail
cd "$(dirname "$0")/.."
bash build/need.sh clang-format:clang-format
for d in core cgo cmd internal tests benchmarks; do
    if [ -d "$d" ]; then gofmt -w "$d"; fi
done
find cgo include java-shim/nativelib/src tests build/portable -name '*.[ch]' -not -path '*/target/*' -exec clang-format -i {} +
