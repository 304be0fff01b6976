# shellcheck shell=bash disable=SC2034 # for those that source it
# SPDX-License-Identifier: Apache-2.0
# Sourced where a C archive of the core is built: codec_tags and codec_libs, for go build and for the link behind it
# (an archive does not hold what its LDFLAGS name). CODECS=go leaves the C codecs out.
codec_tags=
codec_libs=()
if [ "${CODECS:-native}" = native ]; then
    codec_tags=nativecodecs
    codec_libs=(-l:liblz4.a -l:libzstd.a -l:libdeflate.a)
    if ! printf '#include <lz4.h>\n#include <zstd.h>\n#include <libdeflate.h>\nint main(void) { return LZ4_versionNumber() + ZSTD_versionNumber() + libdeflate_crc32(0, 0, 0); }\n' |
        "${CC:-gcc}" -x c -o /dev/null - "${codec_libs[@]}" 2>/dev/null; then
        echo "codecs: lz4, zstd and libdeflate are missing, or are there without static libraries and headers;" \
            "install liblz4-dev libzstd-dev libdeflate-dev (Debian's names), or build with CODECS=go: Go's codecs, slower" >&2
        exit 2
    fi
fi
