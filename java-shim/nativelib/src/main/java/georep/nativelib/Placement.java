// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/** Numbers of georep.h for what happens to an entry, and why. */
public final class Placement {
    public static final int VERBATIM = 1;
    public static final int SINGLE = 2;
    public static final int UNKEYED = 3;
    public static final int REBATCH = 4;
    public static final int PARK = 5;
    public static final int DROP = 6;

    private static final String[] ACTIONS = {"none", "verbatim", "single", "unkeyed", "rebatch", "park", "drop"};
    private static final String[] REASONS = {"ok", "replicated", "not-in-replicate-to", "marker", "txn-aborted",
        "expired", "compacted-out", "segment-misfit", "bucket-misfit", "unstamped", "unkeyed-unproven", "too-large",
        "masked", "malformed", "encrypted-batch", "chunk-incomplete", "no-destination", "codec", "size-mismatch",
        "checksum",
        "overtaken", "too-large-single", "legacy-destination"};

    private Placement() {}

    /** The name of an action number. */
    public static String action(int number) {
        return number >= 0 && number < ACTIONS.length ? ACTIONS[number] : "action-" + number;
    }

    /** The name of a reason number. */
    public static String reason(int number) {
        return number >= 0 && number < REASONS.length ? REASONS[number] : "reason-" + number;
    }
}
