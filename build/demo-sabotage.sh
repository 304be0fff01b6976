#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/demo-sabotage.sh: the demo must notice when one entry on B is removed, swapped with the next, or stored again:
# DEMO FAILED, exit 1, and exactly the number that tells of it above 0. Needs what `make demo` builds.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

above() { grep -qE "\"$1\" : [1-9]" build/reports/demo.json; }

for kind in remove:lost swap:orderViolations repeat:duplicates; do
    out=$(DEMO_SABOTAGE=${kind%%:*} MESSAGES=10000 bash build/demo.sh 2>&1)
    rc=$?
    line=$(tail -n 1 <<<"$out")
    echo "${kind%%:*}: $line"
    ok=1
    [ "$rc" -eq 1 ] && [[ $line == "DEMO FAILED produced "* ]] && [ -f build/reports/demo.json ] || ok=0
    for number in lost orderViolations duplicates; do
        if [ $ok = 1 ] && [ $number = "${kind#*:}" ]; then
            above $number || ok=0
        elif [ $ok = 1 ] && above $number; then
            ok=0
        fi
    done
    if [ $ok = 0 ]; then
        echo "demo-sabotage FAILED: ${kind%%:*} was not noticed for what it is"
        tail -n 30 <<<"$out"
        exit 1
    fi
done
echo "demo-sabotage ok: three mistakes, three noticed"
