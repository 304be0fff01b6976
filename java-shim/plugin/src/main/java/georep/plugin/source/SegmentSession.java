// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Georep;
import georep.nativelib.Peer;
import georep.nativelib.WindowConfig;
import georep.plugin.GeorepConfig;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Replication of one segment to one remote from start to disconnect: a window, its driver, and the references to the
 * topic at both ends. What a segment's replicator, which must live in a package of the broker, needs of this package.
 * Thread-safe; nothing blocks.
 */
public final class SegmentSession {
    /** Flag of an offer: past its TTL. */
    public static final int EXPIRED = Georep.EXPIRED;
    /** Flag of an offer: belongs to an aborted transaction. */
    public static final int TXN_ABORTED = Georep.TXN_ABORTED;

    private static final int MAX_OPEN_UNITS = 100;
    private static final int NOT_FOUND = 404;

    /**
     * An entry that was read.
     *
     * @param token       given back with the entry
     * @param flags       {@link #EXPIRED}, {@link #TXN_ABORTED}
     * @param publishTime milliseconds since 1970; 0 = not known
     */
    public record Offer(Entry entry, Object token, int flags, long publishTime) { }

    /** The broker's side of the segment. Called on the session's executor; must not block. */
    public interface Segment {
        /** The segment topic's name. */
        String segmentTopic();

        String remote();

        /** The last position of the log now. */
        Position logEnd();

        /**
         * Reads up to so many entries and bytes, if no read is under way; ends in {@link SegmentSession#offer}. False:
         * nothing, because what was read and is not sent yet takes all that the dispatch rate has.
         */
        boolean read(int entries, long bytes);

        /** After such an answer, where what was read cannot be sent before more of it is: reads one entry more. */
        void readOn(long bytes);

        /** Deletes positions from the cursor; ends in {@link SegmentSession#deleted}. */
        void delete(List<Position> positions);

        /** The entry is not needed any more. */
        void released(Entry entry, Object token);

        /** So many messages and bytes, an entry or a part of one, were handed to a producer. */
        void sent(Object token, int messages, int bytes);

        /** True when the cursor does not have the position (any more): deleted, expired or cleared. */
        boolean gone(Position p);

        /** So many entries have left the cursor without having been sent; it stands at the position. */
        void lapsed(Position at, long entries);

        /** This session cannot go on (its client is closed, or an internal error): make another; any thread. */
        void restart();

        /**
         * Entries that another segment of this topic still has to replicate, without those that others may pass by;
         * null: it has no such cursor.
         */
        CompletableFuture<Long> ancestorBacklog(String segmentTopic);
    }

    private final SourceBroker broker;
    private final LocalTopic local;
    private final RemoteTopic remote;
    private final WindowDriver driver;
    private CompletableFuture<String> closing;

    public SegmentSession(SourceBroker broker, SourceIdentity self, Segment segment, PulsarClientImpl client,
                          PulsarAdmin remoteAdmin) {
        this.broker = broker;
        this.local = broker.local(self.topic());
        RemoteTopic there = null;
        try {
            there = broker.remote(self.topic(), segment.remote(), client, remoteAdmin);
            this.remote = there;
            this.driver = driver(self, segment);
        } catch (RuntimeException e) {
            if (there != null) {
                broker.release(there);
            }
            broker.release(local);
            throw e;
        }
    }

    private WindowDriver driver(SourceIdentity self, Segment segment) {
        String producer = broker.pulsar().getConfiguration().getReplicatorPrefix() + "." + broker.cluster() + "."
                + self.segment();
        return new WindowDriver(broker, self, producer, remote, local, config(broker, self, segment), segment);
    }

    private static byte[] config(SourceBroker broker, SourceIdentity self, Segment segment) {
        Position end = segment.logEnd();
        GeorepConfig c = broker.config();
        int profile = self.profile().equals("pip486") ? Peer.PROFILE_PIP486 : Peer.PROFILE_M1;
        return new WindowConfig().clusters(broker.cluster(), segment.remote())
                .segment(self.segment(), self.rangeStart(), self.rangeEnd(), profile, false)
                .topic(self.topic().toString(), self.instance(), self.generation())
                .policies(c.placeEncryptedBatch(), c.parkedPass(), c.keepCodec())
                .entryLimits(c.maxEntryBytes(), c.maxDecompressedBytes(), c.maxMessagesPerBatch())
                .windowLimits(c.windowEntries(), c.windowBytes(), MAX_OPEN_UNITS)
                .retryMillis(c.retryMillis()).sentBefore(end.getLedgerId(), end.getEntryId()).toProto();
    }

    /** A 404 becomes "no such cursor" (null). */
    public static <T> CompletableFuture<T> orNotFound(CompletableFuture<T> f) {
        return f.handle((v, e) -> {
            if (e == null) {
                return v;
            }
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            if (cause instanceof PulsarAdminException p && p.getStatusCode() == NOT_FOUND) {
                return null;
            }
            throw FutureUtil.wrapToCompletionException(cause);
        });
    }

    /** Begins: handshake, gate, then reading. */
    public void start() {
        driver.start();
    }

    /**
     * Ends; completes when every entry is released and no producer is left, with the window's last status, JSON of
     * georep.v1.WindowStatus.
     */
    public synchronized CompletableFuture<String> close() {
        if (closing == null) { // a start and a termination that meet both close it; the references go back once
            closing = driver.close().whenComplete((x, e) -> {
                broker.release(remote);
                broker.release(local);
            });
        }
        return closing;
    }

    /** Entries read, in cursor order. */
    public void offer(List<Offer> entries) {
        driver.offer(entries);
    }

    /** The segment is sealed, and all that it holds was offered. */
    public void sourceEnded() {
        driver.sourceEnded();
    }

    /** Outcome of {@link Segment#delete}. */
    public void deleted(List<Position> positions, boolean ok) {
        driver.deleted(positions, ok);
    }

    /**
     * Where the cursor stands, and how many positions have left it since this session began, by whomever; the second is
     * to be read first.
     */
    public void cursorAt(Position mark, long left) {
        driver.cursorAt(mark, left);
    }

    /** A read may be possible again. */
    public void wakeReader() {
        driver.wakeReader();
    }

    public void pause(boolean on) {
        driver.pause(on);
    }

    /**
     * Releases one parked position; fails with an IllegalArgumentException where it is not parked, with an
     * IllegalStateException where the session ends.
     */
    public CompletableFuture<Void> skip(long ledger, long entry) {
        return driver.skip(ledger, entry);
    }

    /** Parked entries that others pass by and that the cursor still has. */
    public long passed() {
        return driver.passed();
    }

    public void closeIdleProducers(long idleNanos) {
        driver.closeIdleProducers(idleNanos);
    }

    public boolean isSupported() {
        return driver.isSupported();
    }

    public boolean isGateOpen() {
        return driver.isGateOpen();
    }

    /** JSON of georep.v1.WindowStatus, or null after the end. */
    public String windowStatusJson() {
        return driver.statusJson();
    }

    /** "supported", or why the remote is not written to. */
    public String remoteStatus() {
        return remote.status();
    }

    public String trouble() {
        return driver.trouble();
    }

    /** Publish time of the oldest entry that was read and is not deleted, milliseconds since 1970; 0 = none. */
    public long oldestPublishTime() {
        return driver.oldestPublishTime();
    }

    /** For how long it has waited for the slow path's budget, in all. */
    public long throttledMillis() {
        return driver.throttledMillis();
    }

    public long secondsWithoutProgress() {
        return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - driver.progressNanos());
    }
}
