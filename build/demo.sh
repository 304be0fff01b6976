#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/demo.sh [DemoThree|DemoBootstrap]: runs a demo of java-shim/demo; `make demo` builds it first. MESSAGES=n scales it.
# The last line is DEMO OK … or DEMO FAILED … (exit 1); the report is build/reports/demo.json, demo-three.json or
# demo-bootstrap.json, the brokers' log beside it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
mkdir -p build/reports
main=${1:-Demo}
rm -rf build/data/demo
[ "$main" != Demo ] || rm -f build/reports/demo.json
trap 'rm -rf build/data/demo' EXIT
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

heap=2g
[ "$main" = Demo ] || heap=3g

DEMO_HOME=$PWD "$java" -Xmx$heap -XX:MaxDirectMemorySize=1g -XX:+UseSerialGC \
    -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=true \
    -Dio.netty.leakDetectionLevel=disabled -Dgeorep.demo.log=build/reports/demo.log \
    -cp "java-shim/demo/target/classes:$(cat java-shim/demo/target/classpath)" "georep.demo.$main"
rc=$?
case $rc in
0 | 1) exit $rc ;;
*)
    echo "DEMO FAILED: the demo's JVM ended with $rc"
    exit 1
    ;;
esac
