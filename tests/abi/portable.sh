#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One library for glibc and musl: the C host linked, and the library loaded at run time as a JVM does, on both libcs.
# LIB names the folder of a library that is there; without it one is built. The last line is "portable ok", or says
# what was skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname -m)" = x86_64 ] || { echo "portable skipped: the build is for amd64" && exit 0; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
lib=${LIB:-$tmp/lib}
[ -n "${LIB-}" ] || bash build/native.sh "$lib"
lib=$(realpath "$lib")
mkdir "$tmp/copy" && cp "$lib/libgeorep.so" "$tmp/copy/"
cflags=(-std=c11 -O1 -Wall -Wextra -Werror -Iinclude)

run() { # compiler, what is preloaded, whether a second copy is refused
    local cc=$1 preload=$2 second=$3 out
    "$cc" "${cflags[@]}" -o "$tmp/host" tests/abi/host/*.c -L"$lib" -lgeorep -Wl,-rpath,"$lib" \
        -Wl,--allow-shlib-undefined -pthread
    "$cc" "${cflags[@]}" -o "$tmp/loader" tests/abi/portable/loader.c -ldl -pthread
    timeout 120 env LD_PRELOAD="$preload" "$tmp/host" >"$tmp/out" || { cat "$tmp/out" && exit 1; }
    out=$(timeout 120 env LD_PRELOAD="$preload" "$tmp/loader" "$lib/libgeorep.so" "$tmp/copy/libgeorep.so" | tr '\n' ' ')
    [ "$out" = "loaded ok second copy $second " ] || { echo "$cc: loader said \"$out\"" && exit 1; }
    echo "portable library on $cc: $(wc -l <"$tmp/out") groups ok, $out"
}

run "${CC:-gcc}" "" ok
if command -v musl-gcc >/dev/null; then
    run musl-gcc "$lib/libgeorep_tls.so" refused
    # Without the preloaded word musl refuses to load it, and says so.
    if timeout 60 "$tmp/loader" "$lib/libgeorep.so" 2>"$tmp/err"; then echo "musl loaded it without the preload" && exit 1; fi
    grep -q TLS "$tmp/err" || { cat "$tmp/err" && exit 1; }
    echo "portable ok"
else
    echo "portable ok (musl skipped: no musl-gcc; Debian has it in musl-tools)"
fi
