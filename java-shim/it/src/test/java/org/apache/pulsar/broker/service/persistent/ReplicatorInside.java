// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

/** What a replicator of the broker tells nobody outside its package. */
public final class ReplicatorInside {
    private ReplicatorInside() {
    }

    /**
     * The bookkeeping of its reads at one moment.
     *
     * @param pending reads under way
     * @param taken   entries that are being read, or were read and are not completed
     */
    public record Credits(int pending, int taken) { }

    public static Credits credits(PersistentReplicator r) {
        synchronized (r.inFlightTasks) {
            int pending = 0;
            int taken = 0;
            for (PersistentReplicator.InFlightTask t : r.inFlightTasks) {
                if (t.entries == null) {
                    pending++;
                    taken += t.readingEntries;
                } else {
                    taken += t.entries.size() - t.completedEntries;
                }
            }
            return new Credits(pending, taken);
        }
    }

    /** The TTL that it goes by, seconds; 0 = none. */
    public static int ttlSeconds(PersistentReplicator r) {
        return r.messageTTLInSeconds;
    }
}
