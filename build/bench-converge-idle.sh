#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench-converge-idle.sh: what three clusters with TOPICS=1000 idle replicated topics say to each other in
# SECONDS=300, and its CPU: the median minute with convergence less that without. Takes twice that and some five
# minutes; the result is build/reports/bench-converge-idle.txt, the brokers' log beside it, and a row for `make bench` in
# bench.d/converge-idle.json. Fails at 2 % of a core per cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reports
rm -rf build/data/converge-idle
trap 'rm -rf build/data/converge-idle' EXIT
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
DEMO_HOME=$PWD "$java" -Xmx4g -XX:MaxDirectMemorySize=1g -XX:+UseSerialGC -Djava.util.logging.config.file=/dev/null \
    -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=true \
    -Dio.netty.leakDetectionLevel=disabled -Dgeorep.demo.log=build/reports/bench-converge-idle.log \
    -cp "java-shim/demo/target/classes:$(cat java-shim/demo/target/classpath)" georep.idle.ConvergeIdle
