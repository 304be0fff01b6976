#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/need.sh PACKAGE:COMMAND… installs the Debian packages whose command is missing; PACKAGE:libNAME.a those whose
# static library is. Without root, or without apt,
# it only says what to install: a build script never asks for a password.
set -euo pipefail
missing=()
here() {
    case $1 in
    *.a) [ -f "$("${CC:-gcc}" -print-file-name="$1" 2>/dev/null)" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}
for pair in "$@"; do
    here "${pair#*:}" || missing+=("${pair%%:*}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "need: please install: ${missing[*]}" >&2
    exit 1
fi
echo "need: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
