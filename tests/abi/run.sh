#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the C host and the Python host against libgeorep; the last line is "abi ok".
#
# The C host runs twice: linked with the core built for AddressSanitizer, so that every access of the library to the
# host's memory is checked, and against the library as it is shipped. ABI_ASAN=0 leaves the first one out.
set -euo pipefail
cd "$(dirname "$0")/../.."
lib=${LIB:-build/lib}
CC=${CC:-gcc}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
[ -n "${LIB-}" ] || bash build/native.sh

cflags=(-std=c11 -g -O1 -Wall -Wextra -Werror -pedantic -Iinclude)
hosts=(tests/abi/host/*.c)

# The header alone, as C11 and as C++.
printf '#include "georep.h"\n' | "$CC" -x c -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only -
if command -v g++ >/dev/null; then printf '#include "georep.h"\n' | g++ -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only -; fi

if [ "${ABI_ASAN:-1}" = 1 ]; then
    # shellcheck source=build/codecs.sh
    . build/codecs.sh
    CGO_ENABLED=1 go build -tags "$codec_tags" -asan -buildmode=c-archive -o "$tmp/georep.a" ./cgo
    "$CC" "${cflags[@]}" -fsanitize=address,undefined -fno-sanitize-recover=undefined -o "$tmp/host_asan" \
        "${hosts[@]}" build/portable/start_loaded.c "$tmp/georep.a" "${codec_libs[@]}" -pthread
    echo "C host, AddressSanitizer on both sides:"
    "$tmp/host_asan"
fi

"$CC" "${cflags[@]}" -o "$tmp/host" "${hosts[@]}" -L"$lib" -lgeorep -Wl,-rpath,"$(realpath "$lib")" -pthread
grep -oE '\bgeorep_[a-z0-9_]+\(' include/georep.h | tr -d '(' | sort -u >"$tmp/all"
nm -u "$tmp/host" | grep -oE 'georep_[a-z0-9_]+' | sort -u >"$tmp/used"
if ! diff "$tmp/all" "$tmp/used"; then
    echo "the C host does not use every function of the header" >&2
    exit 1
fi
echo "C host, shipped library ($(wc -l <"$tmp/all") functions):"
"$tmp/host"

"$CC" "${cflags[@]}" -o "$tmp/place" tests/abi/example/place.c -L"$lib" -lgeorep -Wl,-rpath,"$(realpath "$lib")"
printf '{"epoch":0,"segments":{"4":{"segmentId":4,"hashRange":{"start":0,"end":65535},"state":"ACTIVE"}}}' >"$tmp/layout.json"
# A single message: checksum, size of metadata 8, producer "p", sequence and time 1, payload "x".
printf '\x0e\x01\x11\x22\x33\x44\0\0\0\x07\x0a\x01p\x10\x01\x18\x01x' >"$tmp/entry.bin"
got=$("$tmp/place" "$tmp/layout.json" "$tmp/entry.bin" "$tmp/out.bin")
[ "$got" = "action 2 reason 0 segment 4 bucket 0" ] || { echo "example: $got" && exit 1; }
if ! grep -aq '__GEOREP_ORIGIN' "$tmp/out.bin" || [ "$(tail -c 1 "$tmp/out.bin")" != x ]; then echo "example: wrong output" && exit 1; fi
echo "example ok"

if command -v python3 >/dev/null; then
    python3 tests/abi/host.py "$lib/libgeorep.so"
else
    echo "python host skipped: no python3"
fi
echo "abi ok"
