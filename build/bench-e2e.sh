#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/bench-e2e.sh: the end-to-end part of the benchmarks (row d), two clusters with real bookies in one JVM. Builds
# what it runs, and takes about eight minutes then. Its rows go to build/reports/bench.d/e2e.json, the brokers' log to
# build/reports/bench-e2e.log.
#
#   E2E_OPTS='-Dbench.parts=drain -Dbench.codecs=lz4 -Dbench.rounds=3'   only a piece of it; JVM options
set -euo pipefail
cd "$(dirname "$0")/.."
make -s java
mkdir -p build/reports/bench.d
rm -rf build/data/bench-e2e
trap 'rm -rf build/data/bench-e2e' EXIT
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
read -ra opts <<<"${E2E_OPTS:-}"
# Opened as bin/pulsar does it: with it Pulsar's and BookKeeper's checksums are the processor's.
"$java" -Xms4g -Xmx4g -XX:MaxDirectMemorySize=8g -XX:+UseG1GC -Djava.util.logging.config.file=/dev/null \
    --add-opens java.base/java.util.zip=ALL-UNNAMED --add-opens java.base/java.nio=ALL-UNNAMED \
    --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
    -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=true \
    -Dio.netty.leakDetectionLevel=disabled -Dgeorep.nar.dir=java-shim/nar/target/plugins "${opts[@]}" \
    -cp "java-shim/bench/target/classes:$(cat java-shim/bench/target/classpath)" \
    georep.bench.e2e.EndToEnd build/reports/bench.d/e2e.json 2>build/reports/bench-e2e.log
