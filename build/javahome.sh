#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the JDK's home: JAVA_HOME, else where javac really is.
set -euo pipefail
if [ -n "${JAVA_HOME:-}" ]; then
    echo "$JAVA_HOME"
else
    dirname "$(dirname "$(readlink -f "$(command -v javac)")")"
fi
