// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

/** A source position with part; {@link #WHOLE} for an entry that was stored whole. */
public record Mark(long ledger, long entry, long part) {
    public static final long WHOLE = Long.MAX_VALUE;
}
