#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench-micro.sh [PATTERN]: rows a and b of the benchmarks (re-batch and verbatim path through JNI, beside Java
# with Pulsar's own classes) to build/reports/bench.d/micro.json; PATTERN measures only rows whose names have it. Builds
# what it runs, and takes about four minutes then.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s java
mkdir -p build/reports/bench.d
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
# Opened for the peer: with it Pulsar's checksums are the processor's, as in a broker that bin/pulsar starts.
# shellcheck disable=SC2086 # several options
"$java" -Xms1g -Xmx1g -XX:MaxDirectMemorySize=1g --add-opens java.base/java.util.zip=ALL-UNNAMED \
    --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
    -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=true -Dio.netty.leakDetectionLevel=disabled \
    -Dlog4j2.level=error ${GEOREP_BENCH_JVM:-} \
    -cp "java-shim/bench/target/classes:$(cat java-shim/bench/target/classpath)" \
    georep.bench.micro.Micro build/reports/bench.d/micro.json "${1-}"
