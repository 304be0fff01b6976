// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.CompletableFuture;

/** What the rest of the plugin asks a segment's replicator; implemented by it. Any thread, never blocking. */
public interface ReplicationSource {
    /** False while the parent-drain gate is closed: then the segment does not count as drained, even when empty. */
    boolean gateOpen();

    /** JSON of georep.v1.WindowStatus, or null before there is a window. */
    String windowStatusJson();

    /** Entries behind the cursor but for parked ones that others may pass by; children see 0 as drained. */
    long undrained();

    /** An operator has paused or resumed reading; one that starts later asks its segment. */
    void pause(boolean on);

    /**
     * Releases exactly one parked position; fails with an IllegalArgumentException where it is not parked, with an
     * IllegalStateException where the segment does not replicate now.
     */
    CompletableFuture<Void> skip(long ledger, long entry);
}
