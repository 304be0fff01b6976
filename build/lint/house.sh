#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# House rules that no linter knows: the licence line on top of each source, at most 600 lines per Go file, and no path
# of somebody's machine in the product.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0

# says whether one of the first lines of the file, up to the number, matches; without a pipe, whose reader may end first
early() {
    awk -v last="$2" -v want="$3" 'FNR > last { exit } $0 ~ want { found = 1; exit } END { exit !found }' "$1"
}
generated() { early "$1" 40 'Code generated .* DO NOT EDIT'; }

mapfile -t sources < <(git ls-files '*.go' '*.c' '*.h' '*.java' '*.proto' '*.sh' '*.py')
for f in "${sources[@]}"; do
    [ -f "$f" ] || continue
    # generated Go keeps the generator's first line; a script's line follows its interpreter
    if ! early "$f" 3 'SPDX-License-Identifier: Apache-2[.]0' && ! generated "$f"; then
        echo "$f: no SPDX-License-Identifier line on top"
        bad=1
    fi
done

while read -r f; do
    [ -f "$f" ] || continue
    generated "$f" && continue
    n=$(wc -l <"$f")
    if [ "$n" -gt 600 ]; then
        echo "$f: $n lines, the limit is 600"
        bad=1
    fi
done < <(git ls-files '*.go')

# bare (word-initial) paths into a work area or a home; /tmp is checked only in what is shipped
if git grep -n -I -E '(^|[^A-Za-z0-9_.])/(work|root|home)/[A-Za-z]' -- . ':!build/lint/house.sh' ':!LICENSE'; then
    echo "a path of one machine in the product"
    bad=1
fi

echo "${#sources[@]} sources"
exit $bad
