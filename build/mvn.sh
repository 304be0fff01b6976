#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Maven for this tree: build/mvn.sh [-f POM] ARGS…
# Offline first, because a resolved tree needs no network; online once, when Maven says that something is missing.
# One Maven at a time: two reactors over one target/ folder spoil each other.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/data
exec 9>build/data/maven.lock
flock 9

args=(--batch-mode --no-transfer-progress -q -Dstyle.color=never)
case " $* " in *" -f "*) ;; *) args+=(-f java-shim/pom.xml) ;; esac

log=$(mktemp)
trap 'rm -f "$log"' EXIT
set +e
mvn "${args[@]}" -o "$@" 9>&- 2>&1 | tee "$log"
rc=${PIPESTATUS[0]}
set -e
if [ "$rc" -ne 0 ] && grep -q -i -E 'offline mode|has not been downloaded|is offline' "$log"; then
    echo "mvn: not everything is in the local repository; resolving online"
    set +e
    mvn "${args[@]}" "$@" 9>&-
    rc=$?
    set -e
fi
exit "$rc"
