// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.util.concurrent.atomic.LongAdder;

/** Counts of what this broker did, as a destination where nothing else is said, since it was started. */
public final class PluginCounters {
    public final LongAdder handshakes = new LongAdder();
    public final LongAdder watermarkQueries = new LongAdder();
    public final LongAdder stored = new LongAdder();
    public final LongAdder duplicates = new LongAdder();
    public final LongAdder unknown = new LongAdder();
    public final LongAdder forged = new LongAdder();
    /** Calls, and states in calls, that were refused for what the caller is or says. */
    public final LongAdder refused = new LongAdder();
    /** As a source: replication cursors that were found missing. */
    public final LongAdder cursorsLost = new LongAdder();
    /** Entries of streams that a full segment does not know. */
    public final LongAdder full = new LongAdder();
    /** Segments, now, that are not open to replication because more streams are stored there than they may keep. */
    public final LongAdder refusing = new LongAdder();
}
