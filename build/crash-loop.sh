#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/crash-loop.sh: brokers of two clusters are killed and started again at random, under load, for CRASH_MINUTES=n
# (30) from CRASH_SEED=n (printed); then both clusters' logs must agree. Their layouts stay apart, or follow each other
# with CRASH_CONVERGE=1. Needs `make java cli`. The brokers' logs, with what Netty's leak detector found, stay in
# build/reports/crash-loop-*.log.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
mkdir -p build/reports
rm -rf build/data/crash-loop build/reports/crash-loop-*.log
trap 'rm -rf build/data/crash-loop' EXIT
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

CRASH_HOME=$PWD "$java" -Xmx1g -XX:MaxDirectMemorySize=1g -XX:+UseSerialGC -Dio.netty.tryReflectionSetAccessible=true \
    -Dgeorep.nar.dir="$PWD/java-shim/nar/target/plugins" -Dgeorep.library="$PWD/build/lib/libgeorep.so" \
    -cp "java-shim/it/target/classes:$(cat java-shim/it/target/classpath)" georep.crash.CrashLoop \
    2>build/reports/crash-loop-parent.log
