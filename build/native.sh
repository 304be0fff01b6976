#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds build/lib/libgeorep.so: the Go core, the C ABI of include/georep.h and the JNI entry point in one library,
# and the resource tree build/lib/resources that the Java jar takes it from.
#
#   native.sh [--plain] [outdir]      on amd64 one library for glibc and musl (build/portable/README.md);
#                                     --plain, and elsewhere: for the libc that it is built on
#   TAGS=panics native.sh …           every export panics, for tests
#   CODECS=go native.sh …             Go's codecs instead of liblz4, libzstd and libdeflate
set -euo pipefail
cd "$(dirname "$0")/.."
portable=0
[ "$(go env GOARCH)" != amd64 ] || portable=1
case "${1-}" in --plain) portable=0 && shift ;; esac
out=${1:-build/lib}
mkdir -p "$out" && out=$(realpath "$out")
# Beside the result, so that it is put in place by a rename: a process that loads the library sees the old or the new one.
tmp=$(mktemp -d "$out/.native.XXXXXX") && trap 'rm -rf "$tmp"' EXIT

CC=${CC:-gcc}
# shellcheck source=build/codecs.sh
. build/codecs.sh
# The JDK's headers declare JNI; the library neither links nor needs libjvm.
jdk=${JAVA_HOME:-}
[ -f "$jdk/include/jni.h" ] || jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
[ -f "$jdk/include/jni.h" ] || { echo "native.sh: no JDK with include/jni.h (set JAVA_HOME)" >&2 && exit 2; }

cflags=(-std=c11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Iinclude -I"$jdk/include" -I"$jdk/include/linux")
# shellcheck disable=SC2054 # commas belong to -Wl
ldflags=(-shared -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-z,noexecstack -Wl,-soname,libgeorep.so
    -Wl,--version-script=build/portable/exports.map -Wl,-s -pthread)

CGO_ENABLED=1 CGO_CFLAGS="-O2 -g0" go build -tags "${TAGS-},$codec_tags" -buildmode=c-archive -trimpath -ldflags "-s -w" -o "$tmp/georep.a" ./cgo

if [ "$portable" = 1 ]; then
    # shellcheck source=build/portable/link.sh
    . build/portable/link.sh
else
    "$CC" "${cflags[@]}" "${ldflags[@]}" -Wl,-Bsymbolic -o "$tmp/libgeorep.so" \
        build/portable/start_loaded.c java-shim/nativelib/src/main/c/georep_jni.c "$tmp/georep.a" "${codec_libs[@]}"
fi

# Every function of the header has to be there, and nothing else but JNI's entry.
nm -D --defined-only "$tmp/libgeorep.so" | awk '$2 == "T" {print $3}' | sort >"$tmp/exports"
{ grep -oE '\bgeorep_[a-z0-9_]+\(' include/georep.h | tr -d '(' | sort -u && echo JNI_OnLoad; } | sort -u >"$tmp/wanted"
if ! diff "$tmp/wanted" "$tmp/exports"; then
    echo "native.sh: exports differ from include/georep.h (< header, > library)" >&2
    exit 1
fi

arch=$(uname -m)
res=$out/resources/native/linux-$arch
mkdir -p "$res" "$tmp/res"
cp "$tmp/libgeorep.so" "$tmp/res/"
(cd "$tmp/res" && sha256sum libgeorep.so >libgeorep.so.sha256)
if [ "$portable" = 1 ]; then : >"$tmp/res/libgeorep.so.portable"; else rm -f "$res/libgeorep.so.portable"; fi
for file in "$tmp"/res/*; do
    cmp -s "$file" "$res/${file##*/}" || mv "$file" "$res/"
done
mv "$tmp/libgeorep.so" "$out/libgeorep.so"
echo "built $out/libgeorep.so ($(stat -c %s "$out/libgeorep.so") bytes, linux-$arch$([ "$portable" = 1 ] && echo ', glibc and musl'))"
