#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Regenerates core/pb from include/georep.proto. Needs protoc (Debian: protobuf-compiler);
# the Go plugin is built at the version pinned here. With --check only compares.
set -euo pipefail
cd "$(dirname "$0")/.."
plugin=google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
command -v protoc >/dev/null || { echo "proto.sh: protoc not found (apt-get install protobuf-compiler)" >&2; exit 2; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
GOBIN=$tmp/bin go install "$plugin"
protoc --plugin="$tmp/bin/protoc-gen-go" --go_out="$tmp" --go_opt=module=georep -Iinclude include/georep.proto
# The compiler's own version differs from host to host and changes nothing.
sed -i -E '/^\/\/ \tprotoc +v/d' "$tmp/core/pb/georep.pb.go"
if [ "${1-}" = --check ]; then
    diff -q "$tmp/core/pb/georep.pb.go" core/pb/georep.pb.go && echo "proto ok"
else
    mkdir -p core/pb && cp "$tmp/core/pb/georep.pb.go" core/pb/georep.pb.go && echo "wrote core/pb/georep.pb.go"
fi
