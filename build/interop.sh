#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/interop.sh: installs the clients of other languages under build/data/interop and runs the matrix of
# tests/interop: client x codec x direction. A client that cannot be installed here is skipped, with the reason; one
# that is installed and fails is a failure. `make java cli` comes first.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/build/data/interop
cpp=3.13.0  # PyPI pulsar-client: the C++ client
node=1.18.0 # npm pulsar-client
mkdir -p "$dir"
rm -f "$dir"/*.skipped

skip() { # CLIENT REASON
    echo "$1: skipped: $2"
    echo "$2" >"$dir/$1.skipped"
}

install_cpp() {
    "$dir/cpp/bin/python" -c "import pulsar; assert pulsar.__version__ == '$cpp'" 2>/dev/null && return
    rm -rf "$dir/cpp"
    python3 -m venv "$dir/cpp" && "$dir/cpp/bin/pip" -q --disable-pip-version-check install "pulsar-client==$cpp"
}

# The package has no binary: its install step downloads one, or compiles against the C++ client's headers.
install_node() {
    local log=$dir/node.install.log
    [ -f "$dir/node/node_modules/pulsar-client/lib/binding/pulsar.node" ] &&
        grep -q "\"version\": \"$node\"" "$dir/node/node_modules/pulsar-client/package.json" && return
    mkdir -p "$dir/node"
    echo '{"private":true}' >"$dir/node/package.json"
    timeout 300 npm install --prefix "$dir/node" --no-audit --no-fund "pulsar-client@$node" >"$log" 2>&1 && return
    grep -m1 -E 'fatal error|response status|ECONN|ENOTFOUND|EAI_AGAIN' "$log" | sed 's/^npm error //'
    return 1
}

if ! install_cpp; then skip cpp "pulsar-client $cpp does not install with pip"; fi
if ! command -v npm >/dev/null; then
    skip node "there is no npm"
elif ! why=$(install_node); then
    skip node "pulsar-client $node: npm could not download its binary, nor compile it: $why"
fi
if ! (cd tests/interop/client/go && go build -o "$dir/go-client" .); then skip go "its modules cannot be fetched"; fi

cp java-shim/demo/target/classpath "$dir/classpath"
GEOREP_INTEROP=$dir GEOREP_CLI=$PWD/build/lib/georep \
    go test -count=1 -timeout 15m -run '^TestMatrix$' ./tests/interop "$@"
