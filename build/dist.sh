#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/dist.sh VERSION: packs build/dist/georep-VERSION.tar.gz. Inside: broker/lib (one jar with the classes and the
# native library), broker/brokerAdditionalServlet (the descriptor NAR), conf to append to broker.conf, bin/georep, native/ for C hosts.
# The same inputs give the same bytes: fixed times, sorted names, no owner.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
epoch=@1767225600 # 2026-01-01, as in java-shim/pom.xml
arch=$(uname -m)
name=georep-$version
out=build/dist/$name
rm -rf "$out" build/dist/jar
mkdir -p "$out"/{broker/lib,broker/brokerAdditionalServlet,broker/conf,bin,native/include,native/lib,doc} build/dist/jar

# One jar: the broker's class loader must see the plugin beside the package-private classes that it extends.
for module in nativelib plugin; do
    (cd build/dist/jar && unzip -q -o "../../../java-shim/$module/target/georep-$module-$version.jar")
done
rm -rf build/dist/jar/META-INF/maven build/dist/jar/META-INF/MANIFEST.MF
cp LICENSE build/dist/jar/META-INF/
if [ "$arch" = x86_64 ] && [ ! -f "build/dist/jar/native/linux-$arch/libgeorep.so.portable" ]; then
    echo "dist.sh: the jar's library is for one libc only (native.sh --plain): make lib again" >&2
    exit 1
fi
find build/dist/jar -exec touch -d "$epoch" {} +
(cd build/dist/jar && find . -type f -printf '%P\n' | LC_ALL=C sort >../jar.list)
jar --create --file "$out/broker/lib/georep-$version.jar" --date 2026-01-01T00:00:00Z -C build/dist/jar . >/dev/null
cp java-shim/nar/target/plugins/georep.nar "$out/broker/brokerAdditionalServlet/"
cp build/broker.conf.add "$out/broker/conf/"

cp build/lib/georep "$out/bin/"
cp include/*.h include/*.proto "$out/native/include/"
find build/lib -maxdepth 1 -name '*.so' -exec cp {} "$out/native/lib/" \;
cp LICENSE README.md "$out/"

# The library and the command link other people's modules: their licences travel with them.
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cgo ./cmd/georep |
    sort -u | while read -r path ver dir; do
    [ -n "$path" ] || continue
    printf '==== %s %s\n\n' "$path" "$ver"
    cat "$dir"/LICENSE* 2>/dev/null || { echo "dist.sh: $path has no licence file" >&2 && exit 1; }
    echo
done >"$out/THIRD-PARTY-LICENSES"
# The library also holds C codecs, from static libraries whose notices Debian keeps beside them. All three are used
# under their BSD or MIT terms; what a notice says of tools and tests is not in the library.
# shellcheck source=build/codecs.sh
. build/codecs.sh
if [ -n "$codec_tags" ]; then
    for package in liblz4-dev libzstd-dev libdeflate-dev; do
        notice=/usr/share/doc/$package/copyright
        [ -f "$notice" ] || { echo "dist.sh: $notice is missing, and with it the licence of what the library holds" >&2 && exit 1; }
        printf '==== %s\n\n' "$(dpkg-query -W -f '${source:Package} ${Version}' "$package")"
        cat "$notice"
        echo
    done >>"$out/THIRD-PARTY-LICENSES"
fi
cp docs/*.md "$out/doc/"

find "$out" -exec touch -d "$epoch" {} +
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="$epoch" -C build/dist -cf - "$name" |
    gzip -n -9 >"build/dist/$name.tar.gz"
rm -rf build/dist/jar build/dist/jar.list
(cd build/dist && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
tar -tzf "build/dist/$name.tar.gz" | sed -n 's|^|  |;/[^\/]$/p'
echo "dist ok: build/dist/$name.tar.gz"
