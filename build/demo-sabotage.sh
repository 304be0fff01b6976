#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/demo-sabotage.sh [KIND…]: the demo must notice when one entry in B's log is removed, swapped with the next of its
# stream, or stored twice: DEMO FAILED, exit 1, and exactly the number that tells of it above 0. The application got
# everything before, so no other number may change. Needs what `make demo` builds.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

declare -A tells=([remove]=lost [swap]=orderViolations [repeat]=duplicates)
[ $# -gt 0 ] || set -- remove swap repeat

# number NAME LINE: what the demo's last line says of NAME
number() { sed -nE "s/.* $1 ([0-9]+).*/\1/p" <<<"$2"; }

noticed() {
    local kind=$1 rc=$2 line=$3 n
    [ "$rc" -eq 1 ] && [[ $line == "DEMO FAILED produced "* ]] || return 1
    [ "$(number received "$line")" = "$(number produced "$line")" ] || return 1
    [ "$(number parked "$line")" = 0 ] || return 1
    for n in lost orderViolations duplicates; do
        if [ "$n" = "${tells[$kind]}" ]; then
            [ "$(number "$n" "$line")" -gt 0 ] || return 1
        else
            [ "$(number "$n" "$line")" = 0 ] || return 1
        fi
    done
}

for kind in "$@"; do
    out=$(DEMO_SABOTAGE=$kind MESSAGES=10000 bash build/demo.sh 2>&1)
    rc=$?
    line=$(tail -n 1 <<<"$out")
    echo "$kind: $line"
    if ! noticed "$kind" $rc "$line"; then
        echo "demo-sabotage FAILED: $kind was not noticed for what it is"
        tail -n 30 <<<"$out"
        exit 1
    fi
done
echo "demo-sabotage ok: $# mistakes, $# noticed"
