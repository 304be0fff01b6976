# shellcheck shell=bash disable=SC2154 # tmp, out, CC and the flags are native.sh's
# SPDX-License-Identifier: Apache-2.0
# Sourced by build/native.sh: links $tmp/georep.a into one library for glibc and musl (linux/amd64).
# The steps and why they are needed: README.md beside this file.

mkdir "$tmp/o" && (cd "$tmp/o" && ar x ../georep.a)
objcopy --remove-section=.init_array --remove-section=.rela.init_array \
    --redefine-sym _rt0_amd64_linux_lib=go_rt0_of_georep --redefine-sym runtime.tlsg=georep_go_tlsg "$tmp/o/go.o" "$tmp/go1.o"
objcopy --globalize-symbol=go_rt0_of_georep --globalize-symbol=georep_go_tlsg "$tmp/go1.o" "$tmp/o/go.o"
# A Go release that renames them must not pass.
readelf -sW "$tmp/o/go.o" >"$tmp/symbols"
for symbol in go_rt0_of_georep georep_go_tlsg; do
    grep -q "GLOBAL.* $symbol\$" "$tmp/symbols" || { echo "native.sh: no $symbol: this Go release needs a new recipe (until then: --plain)" >&2 && exit 1; }
done

# -Bsymbolic-functions, not -Bsymbolic: georep_go_tlsg stays preemptible by the preloaded library.
"$CC" "${cflags[@]}" "${ldflags[@]}" -Wl,-Bsymbolic-functions -o "$tmp/libgeorep.so" \
    build/portable/start_portable.c java-shim/nativelib/src/main/c/georep_jni.c "$tmp/o"/*.o "${codec_libs[@]}"
"$CC" -O2 -fPIC -shared -nostdlib -Wl,-soname,libgeorep_tls.so -Wl,-s -o "$out/libgeorep_tls.so" build/portable/tls.c
