#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench-idle.sh: CPU of SEGMENTS=1000 idle replicated segments over SECONDS=300, replication on minus off. Takes
# twice that and a few minutes; the result is build/reports/bench-idle.txt, the brokers' log beside it, and a row for
# `make bench` in bench.d/idle.json.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reports
rm -rf build/data/idle
trap 'rm -rf build/data/idle' EXIT
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
DEMO_HOME=$PWD "$java" -Xmx3g -XX:MaxDirectMemorySize=1g -XX:+UseSerialGC -Djava.util.logging.config.file=/dev/null \
    -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=true \
    -Dio.netty.leakDetectionLevel=disabled -Dgeorep.demo.log=build/reports/bench-idle.log \
    -cp "java-shim/demo/target/classes:$(cat java-shim/demo/target/classpath)" georep.idle.IdleCost
