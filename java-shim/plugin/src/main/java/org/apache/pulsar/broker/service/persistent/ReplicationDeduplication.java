// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.PluginCounters;
import georep.plugin.dest.Mark;
import georep.plugin.dest.OriginGuard;
import georep.plugin.dest.OriginKey;
import georep.plugin.dest.Watermarks;
import georep.plugin.dest.WatermarksFullException;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.util.ManagedLedgerUtils;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.Producer;
import org.apache.pulsar.broker.service.Topic.PublishContext;
import org.apache.pulsar.client.impl.GeoReplicationProducerImpl;
import org.apache.pulsar.common.api.proto.CommandSubscribe.InitialPosition;
import org.apache.pulsar.common.util.FutureUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deduplication of a segment topic: the broker's own for ordinary producers, as the policy says, and the core's for
 * replication producers, always.
 *
 * <pre>
 *   publish  -> check (core) -> store -> persisted (core) -> every N entries: snapshot at that position
 *   load     -> snapshot of cursor "pulsar.repl.georep_dedup" -> replay what was stored after it
 * </pre>
 *
 * <p>The cursor is durable and holds back trimming, so that no entry is gone before a snapshot covers it. Its name
 * begins with the replicator's prefix: a broker takes no such cursor for a subscription, and a broker without this
 * plugin removes it as an orphan when it loads the topic. It is opened with the first replication producer; a topic
 * that nothing is replicated to has none. A ledger property remembers that there was one: if it is missing then (the
 * plugin was away), the whole log is read again.
 *
 * <p>Thread-safe. Same package as its base class, whose maps and states are package-private.
 */
final class ReplicationDeduplication extends MessageDeduplication {
    /** Reserved in place of a cluster's name. */
    static final String RESERVED = "georep_dedup";
    private static final String DEDUPLICATION = PersistentTopic.DEDUPLICATION_CURSOR_NAME;
    private static final String USED = "georep.replicated";
    /** The cursor counts for the topic's backlog quota, so it may not lag far behind large entries either. */
    private static final long SNAPSHOT_BYTES = 4 << 20;
    private static final String TICKET = "georep.ticket";
    private static final Logger LOG = LoggerFactory.getLogger(ReplicationDeduplication.class);

    private final PulsarService pulsar;
    private final ManagedLedger ledger;
    private final LedgerProperties properties;
    private final String topicName;
    private final String boundTopic;
    private final String producerPrefix;
    private final String cursorName;
    private final Watermarks.Factory factory;
    private final int maxKeys;
    private final int snapshotEntries;
    private final OriginGuard guard;
    private final PluginCounters counters;
    private final SessionOrder order = new SessionOrder();

    // guarded by this
    private CompletableFuture<Void> opening;
    private Position recorded;
    private int sinceSnapshot;
    private long bytesSinceSnapshot;
    private boolean snapshotRunning;
    private boolean closed;
    private boolean refusing;
    private volatile Open open;
    private volatile String problem = "";
    private volatile boolean fullTold;

    private record Open(Watermarks marks, ManagedCursor cursor) {
    }

    ReplicationDeduplication(PulsarService pulsar, PersistentTopic topic, ManagedLedger ledger,
                             LedgerProperties properties, String boundTopic, Watermarks.Factory factory, int maxKeys,
                             int snapshotEntries, PluginCounters counters) {
        super(pulsar, topic, ledger);
        this.pulsar = pulsar;
        this.ledger = ledger;
        this.properties = properties;
        this.topicName = topic.getName();
        this.boundTopic = boundTopic;
        this.producerPrefix = pulsar.getConfiguration().getReplicatorPrefix() + ".";
        this.cursorName = producerPrefix + RESERVED;
        this.factory = factory;
        this.maxKeys = maxKeys;
        this.snapshotEntries = snapshotEntries;
        this.guard = new OriginGuard(boundTopic);
        this.counters = counters;
    }

    // ------------------------------------------------------------------ life

    /** At load, and at every change of a policy. */
    @Override
    public CompletableFuture<Void> checkStatus() {
        CompletableFuture<Void> own = used() ? ready().exceptionally(e -> {
            LOG.warn("[{}] replication watermarks are not ready, replication producers have to wait: {}", topicName,
                    e.toString());
            return null; // tried again with the next replication producer; the topic itself stays usable
        }) : CompletableFuture.completedFuture(null);
        boolean wasEnabled = isEnabled();
        OrdinarySequences ordinary = OrdinarySequences.before(ledger, cursor(DEDUPLICATION));
        return own.thenCompose(x -> super.checkStatus()).thenCompose(x -> wasEnabled || !isEnabled() || ordinary == null
                ? CompletableFuture.completedFuture(null)
                : ordinary.restore(pulsar.getExecutor(), getManagedCursor(), highestSequencedPushed,
                        highestSequencedPersisted));
    }

    private boolean used() {
        return properties.get(USED) != null || cursor(cursorName) != null;
    }

    private ManagedCursor cursor(String name) {
        for (ManagedCursor c : ledger.getCursors()) {
            if (c.getName().equals(name)) {
                return c;
            }
        }
        return null;
    }

    /** Completes when the watermarks are complete; a failed attempt is repeated by the next call. */
    synchronized CompletableFuture<Void> ready() {
        if (closed) {
            return CompletableFuture.failedFuture(new IllegalStateException("topic is closed"));
        }
        if (opening == null || opening.isCompletedExceptionally()) {
            opening = openAndReplay().whenComplete((x, e) -> noteOpening(e));
        }
        return opening;
    }

    private synchronized void noteOpening(Throwable e) {
        Throwable cause = e == null ? null : FutureUtil.unwrapCompletionException(e);
        problem = cause == null ? "" : cause.getMessage();
        refuse(cause instanceof WatermarksFullException && !closed);
    }

    private void refuse(boolean now) {
        if (now != refusing) {
            refusing = now;
            counters.refusing.add(now ? 1 : -1);
        }
    }

    /** Why the watermarks are not open, and nothing is taken from other clusters; empty: they are, or need not be. */
    String problem() {
        return problem;
    }

    private CompletableFuture<Void> openAndReplay() {
        boolean wasUsed = properties.get(USED) != null;
        return openCursor(wasUsed ? InitialPosition.Earliest : InitialPosition.Latest)
                .thenCompose(c -> wasUsed ? CompletableFuture.completedFuture(c) : remember().thenApply(x -> c))
                .thenCompose(this::rebuild);
    }

    private CompletableFuture<ManagedCursor> openCursor(InitialPosition where) {
        CompletableFuture<ManagedCursor> f = new CompletableFuture<>();
        ledger.asyncOpenCursor(cursorName, where, new AsyncCallbacks.OpenCursorCallback() {
            @Override
            public void openCursorComplete(ManagedCursor cursor, Object ctx) {
                f.complete(cursor);
            }

            @Override
            public void openCursorFailed(ManagedLedgerException exception, Object ctx) {
                f.completeExceptionally(exception);
            }
        }, null);
        return f;
    }

    private CompletableFuture<Void> remember() {
        return properties.set(USED, "1");
    }

    private CompletableFuture<Void> rebuild(ManagedCursor cursor) {
        cursor.setAlwaysInactive();
        Watermarks marks = factory.create(boundTopic, maxKeys);
        Position from = cursor.getMarkDeletedPosition();
        boolean kept = false;
        try {
            WatermarkSnapshot s = WatermarkSnapshot.of(cursor.getProperties());
            if (s != null && !LogReplay.reaches(ledger, s.upTo())) {
                // what it says is stored may be gone, and would count as stored when it comes again
                LOG.error("[{}] the log ends before {}, up to where the replication watermarks were saved: the bookies "
                        + "have lost entries; reading the whole log", topicName, s.upTo());
                from = PositionFactory.EARLIEST;
            } else if (s != null) {
                marks.load(s.bytes());
                from = s.upTo();
            }
            kept = true;
        } catch (WatermarksFullException e) {
            return CompletableFuture.failedFuture(full(e));
        } catch (IllegalArgumentException e) {
            // a snapshot that cannot be read is no reason to lose messages or to stop: the log has everything
            LOG.error("[{}] the snapshot of the replication watermarks does not parse, reading the whole log: {}",
                    topicName, e.getMessage());
            from = PositionFactory.EARLIEST;
        } finally {
            if (!kept) {
                marks.close();
            }
        }
        if (!kept) {
            marks = factory.create(boundTopic, maxKeys);
        }
        Watermarks table = marks;
        return new LogReplay(ledger, pulsar.getExecutor(), b -> replay(table, b)).run(from).thenAccept(last -> {
            synchronized (this) {
                if (closed) {
                    throw new IllegalStateException("topic is closed");
                }
                recorded = last;
                open = new Open(table, cursor);
            }
        }).whenComplete((x, e) -> {
            if (e != null) {
                table.close();
            }
        });
    }

    private void replay(Watermarks table, ByteBuf entry) {
        try {
            table.replay(entry);
        } catch (WatermarksFullException e) {
            throw full(e);
        } catch (IllegalArgumentException e) {
            LOG.warn("[{}] a stored entry's origin record does not parse, ignored: {}", topicName, e.getMessage());
        }
    }

    private WatermarksFullException full(WatermarksFullException e) {
        return new WatermarksFullException(topicName + " takes nothing from other clusters: more than " + maxKeys
                + " streams are stored in it, raise georepDedupMaxKeys", e);
    }

    /** The topic is closed: gives the native memory back. */
    synchronized void close() {
        closed = true;
        refuse(false);
        Open o = open;
        open = null;
        if (o != null) {
            o.marks.close();
        }
    }

    // ------------------------------------------------------------------ publishing

    /** True: an ordinary producer's entry that pretends to be replicated to this topic. */
    boolean forged(ByteBuf entry) {
        boolean forged = guard.forged(entry);
        if (forged) {
            counters.forged.increment();
        }
        return forged;
    }

    /** A replication producer is connected. */
    void connected(Producer producer) {
        order.begin(producer.getProducerName(), producer);
    }

    void disconnected(Producer producer) {
        order.end(producer.getProducerName(), producer);
    }

    boolean isReplicationProducer(String producerName) {
        return producerName != null && producerName.startsWith(producerPrefix);
    }

    @Override
    public MessageDupStatus isDuplicate(PublishContext ctx, ByteBuf headersAndPayload) {
        if (ctx.isMarkerMessage() || !isReplicationProducer(ctx.getProducerName())) {
            return super.isDuplicate(ctx, headersAndPayload);
        }
        if (!order.follows(ctx.getProducerName(), ctx.getSequenceId())) {
            counters.unknown.increment();
            return MessageDupStatus.Unknown; // an earlier entry of this session was refused
        }
        MessageDupStatus status = judge(ctx, headersAndPayload);
        if (status != MessageDupStatus.Unknown) {
            order.accepted(ctx.getProducerName(), ctx.getSequenceId());
        }
        return status;
    }

    private MessageDupStatus judge(PublishContext ctx, ByteBuf headersAndPayload) {
        Open o = open;
        if (o == null) {
            return MessageDupStatus.Unknown; // closing
        }
        Watermarks.Ticket t;
        try {
            t = o.marks.check(headersAndPayload);
        } catch (IllegalArgumentException | IllegalStateException e) {
            LOG.warn("[{}] {}: cannot be judged, refused: {}", topicName, ctx.getProducerName(), e.getMessage());
            return MessageDupStatus.Unknown;
        }
        if (t.verdict() == Watermarks.Verdict.NOT_OURS) {
            return super.isDuplicate(ctx, headersAndPayload);
        }
        // the receipt names the source position
        ctx.setProperty(GeoReplicationProducerImpl.MSG_PROP_REPL_SOURCE_POSITION, new long[] {t.ledger(), t.entry()});
        switch (t.verdict()) {
            case NEW -> {
                ctx.setProperty(TICKET, t);
                return MessageDupStatus.NotDup;
            }
            case DUPLICATE -> {
                counters.duplicates.increment();
                return MessageDupStatus.Dup;
            }
            case FULL -> {
                counters.full.increment();
                if (!fullTold) { // the source comes again and again
                    fullTold = true;
                    LOG.error("[{}] {} refused: {} streams are known already (georepDedupMaxKeys)", topicName,
                            ctx.getProducerName(), maxKeys);
                }
                return MessageDupStatus.Unknown;
            }
            default -> {
                counters.unknown.increment();
                return MessageDupStatus.Unknown;
            }
        }
    }

    /** In log order, from the ledger's thread. */
    @Override
    public void recordMessagePersisted(PublishContext ctx, Position position) {
        Object ticket = ctx.getProperty(TICKET);
        if (ticket == null) {
            super.recordMessagePersisted(ctx, position);
        } else if (isEnabled()) {
            recordMessagePersistedNormal(ctx, position); // the policy's own snapshots have to keep up with the log
        }
        Open o = open;
        if (o == null) {
            return;
        }
        synchronized (this) {
            if (closed) {
                return;
            }
            if (ticket instanceof Watermarks.Ticket t) {
                o.marks.persisted(t);
                counters.stored.increment();
            }
            if (recorded == null || position.compareTo(recorded) > 0) {
                recorded = position;
            }
            bytesSinceSnapshot += Math.max(0, ctx.getMsgSize());
            if (++sinceSnapshot >= snapshotEntries || bytesSinceSnapshot >= SNAPSHOT_BYTES) {
                storeSnapshot(o);
            }
        }
    }

    /** The topic was fenced after a failed write and goes on. */
    @Override
    public void resetHighestSequenceIdPushed() {
        super.resetHighestSequenceIdPushed();
        Open o = open;
        if (o != null) {
            o.marks.failed();
        }
    }

    // ------------------------------------------------------------------ snapshots

    /** By the broker's timer, and when the backlog is over its quota. */
    @Override
    public void takeSnapshot() {
        super.takeSnapshot();
        Open o = open;
        if (o == null) {
            return;
        }
        synchronized (this) {
            if (!closed && recorded != null && recorded.compareTo(o.cursor.getMarkDeletedPosition()) > 0) {
                storeSnapshot(o);
            }
        }
    }

    /** Caller holds the lock: table and position belong together. */
    private void storeSnapshot(Open o) {
        if (snapshotRunning) {
            return; // the next entry tries again
        }
        sinceSnapshot = 0; // one that fails is tried again after as many entries
        bytesSinceSnapshot = 0;
        try {
            WatermarkSnapshot s = new WatermarkSnapshot(recorded, o.marks.snapshot());
            snapshotRunning = true;
            ManagedLedgerUtils.markDelete(o.cursor, s.upTo(), s.properties()).whenComplete((x, e) -> stored(s.upTo(),
                    e));
        } catch (RuntimeException e) {
            stored(recorded, e);
        }
    }

    private synchronized void stored(Position upTo, Throwable e) {
        snapshotRunning = false;
        if (e != null) {
            LOG.warn("[{}] cannot store the replication watermarks at {}: {}", topicName, upTo, e.toString());
        }
    }

    // ------------------------------------------------------------------ questions

    /** Highest stored position of a stream. */
    CompletableFuture<Optional<Mark>> watermark(OriginKey key) {
        if (!used()) {
            return CompletableFuture.completedFuture(Optional.empty()); // nothing was ever replicated to this topic
        }
        return ready().thenApply(x -> {
            Open o = open;
            if (o == null) {
                throw new IllegalStateException("topic is closed");
            }
            return o.marks.watermark(key);
        });
    }

    /** Forgets streams that are gone at their origin. */
    int forget(List<OriginKey> keys) {
        Open o = open;
        if (o == null) {
            return 0;
        }
        keys.forEach(k -> {
            LOG.info("[{}] forgets {}: gone at its origin", topicName, k);
            o.marks.prune(k);
        });
        fullTold &= keys.isEmpty();
        return keys.size();
    }

    /** JSON of georep.v1.DedupStatus, or null where nothing is replicated to this topic. */
    String statusJson() {
        Open o = open;
        return o == null ? null : o.marks.statusJson();
    }

    /** Position that the last stored snapshot covers; for tests and status. */
    Position snapshotPosition() {
        ManagedCursor c = cursor(cursorName);
        WatermarkSnapshot s = c == null ? null : WatermarkSnapshot.of(c.getProperties());
        return s == null ? null : s.upTo();
    }
}
