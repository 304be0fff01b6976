# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by test.sh and lint.sh: runs named stages, prints a banner and the time of each, stops at the first failure
# (or goes on with KEEP_GOING=1) and names what failed in the last line.

stage_failed=()
stage_skipped=()
stage_began=$SECONDS

# stage NAME COMMAND… : exit code 77 of the command means "skipped", with the reason in its output.
stage() {
    local name=$1 t=$SECONDS rc=0
    shift
    printf '\n==== %s: %s\n' "$STAGES" "$name"
    "$@" </dev/null || rc=$?
    case $rc in
    0) printf -- '---- %s: ok (%d s)\n' "$name" $((SECONDS - t)) ;;
    77)
        printf -- '---- %s: skipped\n' "$name"
        stage_skipped+=("$name")
        ;;
    *)
        printf -- '---- %s: FAILED with %d (%d s)\n' "$name" "$rc" $((SECONDS - t))
        stage_failed+=("$name")
        [ "${KEEP_GOING:-0}" = 1 ] || stage_end
        ;;
    esac
}

# stage_end prints the last line and exits.
stage_end() {
    echo
    [ ${#stage_skipped[@]} -eq 0 ] || echo "$STAGES skipped: ${stage_skipped[*]}"
    if [ ${#stage_failed[@]} -gt 0 ]; then
        echo "$STAGES FAILED: ${stage_failed[*]} ($((SECONDS - stage_began)) s)"
        exit 1
    fi
    echo "$STAGES ok ($((SECONDS - stage_began)) s)"
    exit 0
}
