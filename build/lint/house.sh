#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# House rules that no linter knows: the licence line on top of each source, at most 600 lines per Go file, and no path
# of somebody's machine in the product.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0

mapfile -t sources < <(git ls-files '*.go' '*.c' '*.h' '*.java' '*.proto' '*.sh' '*.py')
for f in "${sources[@]}"; do
    [ -f "$f" ] || continue
    # generated Go keeps the generator's first line; a script's line follows its interpreter
    if ! head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' &&
        ! head -n 40 "$f" | grep -q 'Code generated .* DO NOT EDIT'; then
        echo "$f: no SPDX-License-Identifier line on top"
        bad=1
    fi
done

while read -r f; do
    [ -f "$f" ] || continue
    head -n 40 "$f" | grep -q 'Code generated .* DO NOT EDIT' && continue
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
