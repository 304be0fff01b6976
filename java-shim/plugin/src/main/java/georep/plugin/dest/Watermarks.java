// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import io.netty.buffer.ByteBuf;
import java.util.Optional;

/**
 * The replication watermarks of one segment topic: the core's dedup machine (georep.h, tier advanced, dedup). Calls are
 * serialised inside. Every buffer holds a whole entry, checksum or not, and is only read during the call; its indexes
 * do not change.
 */
public interface Watermarks extends AutoCloseable {
    /** Judgement on an entry that is about to be stored. */
    enum Verdict { NOT_OURS, NEW, DUPLICATE, UNKNOWN, FULL }

    /** What {@link #check} read; given back when the entry is stored. */
    interface Ticket {
        Verdict verdict();

        /** Source position; what the receipt to the replicator names. */
        long ledger();

        long entry();
    }

    /** Throws IllegalArgumentException where the entry or its origin record does not parse. */
    Ticket check(ByteBuf entry);

    void persisted(Ticket ticket);

    /** Publishes failed: what was accepted and not stored counts as not seen. */
    void failed();

    /**
     * Rebuild from one stored entry; entries that are not ours are ignored. IllegalArgumentException: this one does not
     * parse, go on; {@link WatermarksFullException}: do not open the topic to replication.
     */
    void replay(ByteBuf entry);

    byte[] snapshot();

    /** Loads a snapshot; throws as {@link #replay} does. */
    void load(byte[] snapshot);

    /** Highest stored position of a stream. */
    Optional<Mark> watermark(OriginKey key);

    /** Forgets a stream; only when its origin says that the segment is gone. */
    void prune(OriginKey key);

    /** JSON of georep.v1.DedupStatus. */
    String statusJson();

    @Override
    void close();

    /** Makes the watermarks of one segment topic. */
    @FunctionalInterface
    interface Factory {
        /**
         * {@code boundTopic}: the segment topic's name, {@code segment://…}, as the core writes it into origin
         * records.
         */
        Watermarks create(String boundTopic, int maxKeys);
    }
}
