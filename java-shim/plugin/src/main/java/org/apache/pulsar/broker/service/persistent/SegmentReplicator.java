// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.source.EntryFlags;
import georep.plugin.source.OldestEntry;
import georep.plugin.source.ReadAllowance;
import georep.plugin.source.ReplicationSource;
import georep.plugin.source.ReplicationStatus;
import georep.plugin.source.SegmentSession;
import georep.plugin.source.SourceBroker;
import georep.plugin.source.SourceIdentity;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.bookkeeper.mledger.AsyncCallbacks.DeleteCallback;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.ManagedLedgerException.CursorAlreadyClosedException;
import org.apache.bookkeeper.mledger.ManagedLedgerException.NoMoreEntriesToReadException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.transaction.TxnID;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.DispatchRate;

/**
 * Replicator of one segment to one remote cluster. The broker sees an ordinary PersistentReplicator (it casts every
 * replicator to one); behind it a {@link SegmentSession} runs the core's window, with producers per remote segment
 * instead of the stock replicator's single one.
 *
 * <p>The stock bookkeeping of reads (InFlightTask: permits, rewinds, the wait for a pending read) is kept, because
 * disconnecting and terminating rely on it; an entry counts as completed when the window releases it. The stock
 * decision when to read is replaced: the window says how much it wants, {@link ReadAllowance} how much of that the
 * dispatch rate lets pass. Stock code registers a read before it asks the rate limiter, and then waits for ever for a
 * read that was never begun; here the limiter is asked first, and charged for every message, not for every entry.
 */
public class SegmentReplicator extends PersistentReplicator
        implements SegmentSession.Segment, ReplicationSource, ReplicationStatus.Replicator {
    private static final int LIMITER_RETRY_MILLIS = 100;
    private static final int CURSOR_RETRY_MILLIS = 1000;
    private static final int READ_AGAIN_MILLIS = 500;

    /** Goes with an entry through the window. */
    private record Taken(InFlightTask task, ReadAllowance.Claim claim) { }

    private final ReplicatedSegmentTopic segmentTopic;
    private final PulsarAdmin remoteAdmin;
    private final SourceBroker source;
    private final TopicName name;
    private final EntryFlags flags = new EntryFlags();
    private final ReadAllowance allowance = new ReadAllowance();
    private DispatchRate rate; // as the limiter has it
    private final OldestEntry oldest;
    private final CursorLapse lapse;
    private volatile long leftBefore; // positions that had left the cursor when the session began
    private volatile long leftTold;
    private final AtomicBoolean pausing = new AtomicBoolean();
    private final AtomicBoolean restarting = new AtomicBoolean();
    private final AtomicInteger handingOver = new AtomicInteger(); // reads whose entries are on their way to the window
    private volatile SegmentSession session;
    private volatile long emptyNanos = System.nanoTime();
    private volatile boolean constructed;

    public SegmentReplicator(ReplicatedSegmentTopic topic, ManagedCursor cursor, String localCluster,
                             String remoteCluster, BrokerService bs, PulsarClientImpl client, PulsarAdmin admin)
            throws PulsarServerException {
        super(localCluster, topic, cursor, remoteCluster, topic.getName(), bs, client, admin);
        this.segmentTopic = topic;
        this.remoteAdmin = admin;
        this.name = TopicName.get(topic.getName());
        this.oldest = new OldestEntry(cursor);
        this.lapse = new CursorLapse(cursor);
        Integer ttl = topic.getHierarchyTopicPolicies().getMessageTTLInSeconds().get();
        this.messageTTLInSeconds = ttl == null ? 0 : ttl; // stock code tells it at the next change of a policy only
        this.source = SourceBroker.of(bs.pulsar());
        source.status().add(this);
        constructed = true; // the stock constructor has called startProducer before the fields above were set
        updateRateLimiter();
        startProducer();
    }

    @Override
    protected String getProducerName() {
        return getReplicatorName(replicatorPrefix, localCluster) + "." + TopicName.get(localTopicName).getSegmentId();
    }

    // ---- life cycle

    @Override
    public void startProducer() {
        if (!constructed) {
            return;
        }
        var change = compareSetAndGetState(State.Disconnected, State.Starting);
        if (!change.getLeft()) {
            if (change.getRight() == State.Disconnecting) {
                delayStartProducerAfterDisconnected();
            }
            return;
        }
        // before its recovery the transaction buffer takes what is open or aborted for readable
        CompletableFuture<SourceIdentity> ready = segmentTopic.sourceIdentity(remoteCluster)
                .thenCombine(segmentTopic.checkIfTransactionBufferRecoverCompletely(), (identity, x) -> identity);
        ready.whenComplete((identity, e) -> {
            try {
                if (e != null) {
                    throw new IllegalStateException(e);
                }
                begin(identity);
            } catch (RuntimeException failed) {
                startFailed(failed);
            }
        });
    }

    private void startFailed(RuntimeException e) {
        if (state == State.Started) { // in its last steps: what it has by now is given back first
            log.warn().exceptionMessage(e).log("Replication did not start, starting again");
            brokerService.executor().schedule(this::restart, CURSOR_RETRY_MILLIS, TimeUnit.MILLISECONDS);
        } else if (compareSetAndGetState(State.Starting, State.Disconnected).getLeft()) {
            long wait = backOff.next().toMillis();
            log.warn().exceptionMessage(e).attr("waitTimeSec", wait / 1000.0)
                    .log("Replication did not start, retrying");
            scheduleCheckTopicActiveAndStartProducer(wait);
        }
    }

    private void begin(SourceIdentity identity) {
        cancelWaitingRead(); // of an earlier session
        segmentTopic.reads(remoteCluster).whenIdle(this::readsUnderWay, () -> {
            try {
                beginReading(identity);
            } catch (RuntimeException e) {
                startFailed(e);
            }
        });
    }

    private void beginReading(SourceIdentity identity) {
        if (state != State.Starting) {
            return; // terminated meanwhile
        }
        SegmentSession s = new SegmentSession(source, identity, this, replicationClient, remoteAdmin);
        session = s;
        if (!compareSetAndGetState(State.Starting, State.Started).getLeft()) {
            session = null;
            s.close();
            return;
        }
        backOff.reset();
        cursor.setActive();
        leftBefore = left();
        leftTold = 0;
        cursor.rewind();
        if (segmentTopic.paused(remoteCluster)) {
            s.pause(true);
        }
        s.start();
    }

    private boolean readsUnderWay() {
        return state == State.Starting && (hasPendingRead()
                || cursor instanceof ManagedCursorImpl c && c.getPendingReadOpsCount() > 0);
    }

    @Override
    protected void setProducerAndTriggerReadEntries(Producer<byte[]> p) {
        throw new UnsupportedOperationException("a segment has no single producer");
    }

    /** Ends the session: disconnect and terminate both come here. */
    @Override
    protected CompletableFuture<Void> doCloseProducerAsync(Producer<byte[]> ignored, Runnable afterClosed) {
        SegmentSession s = session;
        session = null;
        if (s == null) {
            afterClosed.run();
            return CompletableFuture.completedFuture(null);
        }
        return s.close().thenAccept(last -> {
            source.status().retire(this, last);
            afterClosed.run();
        });
    }

    @Override
    protected void doReleaseResources() {
        source.status().remove(this);
        super.doReleaseResources();
    }

    // ---- reading

    /** The stock loop calls this after every read, failure and rewind: the session decides. */
    @Override
    protected void readMoreEntries() {
        SegmentSession s = session;
        if (s != null) {
            s.wakeReader();
        }
    }

    @Override
    protected boolean isWritable() {
        return true;
    }

    /** At any change of a policy, and a limiter that is updated begins with all that it may have. */
    @Override
    public void updateRateLimiter() {
        synchronized (inFlightTasks) {
            DispatchRate now = topic.getReplicatorDispatchRate();
            if (!constructed || Objects.equals(now, rate)) {
                return;
            }
            rate = now;
            super.updateRateLimiter();
        }
        cancelWaitingRead(); // it was granted by the rate before
        readMoreEntries();
    }

    private Optional<DispatchRateLimiter> limiter() {
        return dispatchRateLimiter.filter(DispatchRateLimiter::isDispatchRateLimitingEnabled);
    }

    @Override
    public boolean read(int wantEntries, long wantBytes) {
        return pausing.get() || read(wantEntries, wantBytes, allowance);
    }

    @Override
    public void readOn(long wantBytes) {
        read(1, wantBytes, new ReadAllowance()); // as if nothing had been read
    }

    private boolean read(int wantEntries, long wantBytes, ReadAllowance by) {
        if (state != State.Started) {
            return true;
        }
        if (cursor.getManagedLedger().isTerminated() && !cursor.hasMoreEntries()) {
            tellEnd(); // a waiting read would fail for ever
            return true;
        }
        ServiceConfiguration c = brokerService.pulsar().getConfiguration();
        int entries = Math.min(wantEntries, c.getDispatcherMaxReadBatchSize());
        long bytes = Math.min(wantBytes, c.getDispatcherMaxReadSizeBytes());
        Optional<DispatchRateLimiter> limiter = limiter();
        InFlightTask task;
        synchronized (inFlightTasks) {
            if (waitForCursorRewindingRefCnf > 0 || state != State.Started || hasPendingRead()
                    || limiter.isPresent() && handingOver.get() > 0) { // until what it brings has its claim
                return true; // comes by again when that is over
            }
            if (limiter.isPresent()) {
                ReadAllowance.Grant g = by.grant(entries, bytes, limiter.get()::getAvailableDispatchRateLimitOnMsg,
                        limiter.get()::getAvailableDispatchRateLimitOnByte);
                if (g.entries() == 0) {
                    readAfterPause(LIMITER_RETRY_MILLIS);
                    return !g.claimed();
                }
                entries = g.entries();
                bytes = g.bytes();
            }
            // the window has the say: it may hold more chunks of one message than the queue has places
            int permits = Math.min(entries, Math.max(1, producerQueueSize - getInflightMessagesCount()));
            task = createOrRecycleInFlightTaskIntoQueue(cursor.getReadPosition(), permits);
        }
        cursor.asyncReadEntriesOrWait(task.getReadingEntries(), bytes, this, task, topic.getMaxReadPosition());
        return true;
    }

    /** A read moves the cursor before its entries arrive: the end is told when none is on its way. */
    private void tellEnd() {
        SegmentSession s = session;
        synchronized (inFlightTasks) {
            if (s == null || waitForCursorRewindingRefCnf > 0 || hasPendingRead() || handingOver.get() > 0
                    || !segmentTopic.ended() || cursor.hasMoreEntries()) {
                return; // comes by again when that is over
            }
        }
        s.sourceEnded();
    }

    /** A read that waits for an entry would wait for ever. */
    void sourceSealed() {
        cancelWaitingRead();
        readMoreEntries();
    }

    /** Takes a read back that waits for an entry to be written; one that is under way goes on. */
    private void cancelWaitingRead() {
        synchronized (inFlightTasks) {
            if (cursor.cancelPendingReadRequest()) {
                inFlightTasks.stream().filter(t -> t.entries == null).forEach(t -> t.setEntries(List.of()));
            }
        }
    }

    @Override
    public void readEntriesComplete(List<Entry> entries, Object ctx) {
        handingOver.incrementAndGet();
        try {
            super.readEntriesComplete(entries, ctx);
        } finally {
            handingOver.decrementAndGet();
            segmentTopic.reads(remoteCluster).ended();
        }
        if (cursor.getManagedLedger().isTerminated() || limiter().isPresent()) {
            readMoreEntries();
        }
    }

    /** One timer at a time: every receipt comes by here while the limiter has nothing. */
    private void readAfterPause(long millis) {
        if (pausing.compareAndSet(false, true)) {
            brokerService.executor().schedule(() -> {
                pausing.set(false);
                readMoreEntries();
            }, millis, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void readEntriesFailed(ManagedLedgerException e, Object ctx) {
        if (e instanceof NoMoreEntriesToReadException && ctx instanceof InFlightTask task) {
            cursor.cancelPendingReadRequest(); // the cursor still lists it
            task.setEntries(List.of());
            readAfterPause(READ_AGAIN_MILLIS); // to tell the end, or for what a transaction still holds back
        } else if (e instanceof CursorAlreadyClosedException && ctx instanceof InFlightTask task) {
            task.setEntries(List.of());
            cursorClosed();
        } else {
            super.readEntriesFailed(e, ctx);
        }
        segmentTopic.reads(remoteCluster).ended();
    }

    /** With its topic, or because somebody deleted the cursor: then a new one is made, which says so. */
    private void cursorClosed() {
        if (topic.isClosingOrDeleting()) {
            terminate();
        } else {
            if (restarting.compareAndSet(false, true)) { // not at once: while it is being deleted it still opens
                log.warn().log("The replication cursor is closed while its topic is not, starting again");
                brokerService.executor().schedule(this::restart, CURSOR_RETRY_MILLIS, TimeUnit.MILLISECONDS);
            }
        }
    }

    @Override
    protected boolean replicateEntries(List<Entry> entries, InFlightTask task) {
        SegmentSession s = session;
        if (s == null || task.isSkipReadResultDueToCursorRewind() || state != State.Started) {
            entries.forEach(e -> give(e, task));
            return false;
        }
        List<SegmentSession.Offer> offers = new ArrayList<>(entries.size());
        try {
            for (Entry e : entries) {
                offers.add(offer(e, task));
            }
        } catch (RuntimeException e) {
            readAgain(entries, task, e);
            return false;
        }
        allowance.arrived(offers.stream().map(o -> ((Taken) o.token()).claim()).toList());
        s.offer(offers);
        return true;
    }

    /** Nothing may be sent past entries that the window was not given: they come first, after a pause. */
    private void readAgain(List<Entry> entries, InFlightTask task, RuntimeException why) {
        log.warn().exceptionMessage(why).attr("entries", entries.size()).log("Entries not judged, reading them again");
        readAfterPause(READ_AGAIN_MILLIS);
        synchronized (inFlightTasks) {
            if (waitForCursorRewindingRefCnf == 0) { // else everything is read again anyway
                cursor.seek(entries.get(0).getPosition());
            }
        }
        entries.forEach(e -> give(e, task));
    }

    /** What only the broker knows about an entry; called by one read at a time. */
    private SegmentSession.Offer offer(Entry e, InFlightTask task) {
        int bits = 0;
        boolean understood = flags.read(e.getDataBuffer());
        if (understood && messageTTLInSeconds > 0 && flags.publishTime() > 0 && System.currentTimeMillis()
                > flags.publishTime() + TimeUnit.SECONDS.toMillis(messageTTLInSeconds)) {
            bits |= SegmentSession.EXPIRED;
            msgExpired.recordEvent(0);
        }
        TxnID txn = understood ? flags.transaction() : null;
        if (txn != null && topic.isTxnAborted(txn, e.getPosition())) {
            bits |= SegmentSession.TXN_ABORTED;
        }
        var claim = new ReadAllowance.Claim(understood ? flags.messages() : 1, e.getLength());
        return new SegmentSession.Offer(e, new Taken(task, claim), bits, flags.publishTime());
    }

    @Override
    public void released(Entry entry, Object token) {
        Taken t = (Taken) token;
        allowance.released(t.claim());
        give(entry, t.task());
    }

    private static void give(Entry entry, InFlightTask task) {
        task.incCompletedEntries();
        entry.release();
    }

    // ---- what the session does to the cursor and the statistics

    /** Positions that have left the cursor so far, by whomever: the counter behind its backlog. */
    private long left() {
        return cursor instanceof ManagedCursorImpl c ? c.getMessagesConsumedCounter() : 0;
    }

    /** What others have taken from the cursor is found where somebody looks: at a status call, a scrape, the sweep. */
    private void tellCursor(SegmentSession s) {
        long left = left() - leftBefore;
        if (left != leftTold) {
            leftTold = left;
            s.cursorAt(cursor.getMarkDeletedPosition(), Math.max(0, left));
        }
    }

    @Override
    public void lapsed(Position at, long entries) {
        lapse.add(entries, at);
    }

    @Override
    public void delete(List<Position> positions) {
        SegmentSession s = session;
        cursor.asyncDelete(positions, new DeleteCallback() {
            @Override
            public void deleteComplete(Object ctx) {
                report(s, positions, true);
            }

            @Override
            public void deleteFailed(ManagedLedgerException e, Object ctx) {
                if (e instanceof CursorAlreadyClosedException) {
                    cursorClosed();
                    return;
                }
                log.warn().exceptionMessage(e).attr("positions", positions.size())
                        .log("Positions not deleted, again later");
                report(s, positions, false);
            }
        }, null);
    }

    private static void report(SegmentSession s, List<Position> positions, boolean ok) {
        if (s != null) {
            s.deleted(positions, ok);
        }
    }

    @Override
    public Position logEnd() {
        return cursor.getManagedLedger().getLastConfirmedEntry();
    }

    @Override
    public void sent(Object token, int messages, int bytes) {
        dispatchRateLimiter.ifPresent(l -> l.consumeDispatchQuota(messages, bytes));
        allowance.sent(((Taken) token).claim(), messages);
        msgOut.recordEvent(bytes);
        stats.incrementMsgOutCounter();
        stats.incrementBytesOutCounter(bytes);
    }

    @Override
    public boolean gone(Position p) {
        return p.compareTo(cursor.getMarkDeletedPosition()) <= 0 || cursor.isMessageDeleted(p);
    }

    @Override
    public void restart() {
        if (isTerminated()) {
            return;
        }
        terminate().whenComplete((x, e) -> segmentTopic.replicateAgain(remoteCluster));
    }

    @Override
    public CompletableFuture<Long> ancestorBacklog(String topicName) {
        if (!TopicName.get(topicName).isSegment()) {
            return legacyBacklog(topicName);
        }
        var loaded = brokerService.getTopics().get(topicName);
        if (loaded != null && loaded.isDone() && !loaded.isCompletedExceptionally()
                && loaded.join().orElse(null) instanceof ReplicatedSegmentTopic t) {
            long n = t.undrained(remoteCluster);
            return CompletableFuture.completedFuture(n < 0 ? null : n);
        }
        return SegmentSession.orNotFound(source.segmentStatus(TopicName.get(topicName)))
                .thenApply(json -> json == null ? null : ReplicationStatus.undrained(json, remoteCluster));
    }

    @Override
    public long undrained() {
        // in this order: what is passed by now was behind the cursor when that was read
        long behind = cursor.getNumberOfEntriesInBacklog(true);
        SegmentSession s = session;
        return behind - (s == null ? 0 : Math.min(behind, s.passed()));
    }

    /**
     * A legacy segment is a persistent topic; its classic replicator's backlog counts. A migration publishes the layout
     * that calls it sealed before it terminates the topic; until then a backlog of 0 proves nothing.
     */
    private CompletableFuture<Long> legacyBacklog(String topicName) {
        return SegmentSession.orNotFound(admin.topics().getInternalStatsAsync(topicName).thenCompose(log ->
                !"Terminated".equals(log.state) ? CompletableFuture.<Long>completedFuture(null)
                        : admin.topics().getStatsAsync(topicName).thenApply(st -> {
                            var r = st.getReplication().get(remoteCluster);
                            return r == null ? null : r.getReplicationBacklog();
                        })));
    }

    // ---- what the broker asks

    @Override
    public boolean isConnected() {
        SegmentSession s = session;
        return s != null && s.isSupported();
    }

    @Override
    public long getReplicationDelayMs() {
        long t = oldestPublishTime();
        return t <= 0 ? 0 : Math.max(0, System.currentTimeMillis() - t);
    }

    // ---- what the plugin asks

    @Override
    public boolean gateOpen() {
        SegmentSession s = session;
        return s != null && s.isGateOpen();
    }

    @Override
    public String windowStatusJson() {
        SegmentSession s = session;
        if (s == null) {
            return null;
        }
        tellCursor(s);
        return s.windowStatusJson();
    }

    @Override
    public long lapsed() {
        return lapse.entries();
    }

    @Override
    public String horizon() {
        return lapse.horizon();
    }

    @Override
    public void pause(boolean on) {
        SegmentSession s = session;
        if (s != null) {
            s.pause(on);
        }
    }

    @Override
    public CompletableFuture<Void> skip(long ledger, long entry) {
        SegmentSession s = session;
        return s != null ? s.skip(ledger, entry) : CompletableFuture.failedFuture(
                new IllegalStateException("the segment does not replicate now"));
    }

    @Override
    public TopicName parent() {
        return segmentTopic.parent();
    }

    @Override
    public String segmentTopic() {
        return localTopicName;
    }

    @Override
    public long segment() {
        return name.getSegmentId();
    }

    @Override
    public String remote() {
        return remoteCluster;
    }

    @Override
    public long backlog() {
        return cursor.getNumberOfEntriesInBacklog(false);
    }

    @Override
    public long oldestPublishTime() {
        SegmentSession s = session;
        long read = s == null ? 0 : s.oldestPublishTime();
        if (read == 0 && CursorStart.hold(cursor) != null) {
            return -1; // what it stands at may be left out, and to look would fetch it out of tiered storage
        }
        return read != 0 ? read : backlog() == 0 ? 0 : oldest.publishTime();
    }

    @Override
    public String remoteStatus() {
        SegmentSession s = session;
        return s == null ? "starting" : s.remoteStatus();
    }

    @Override
    public String trouble() {
        SegmentSession s = session;
        return s == null ? "" : s.trouble();
    }

    @Override
    public long throttledMillis() {
        SegmentSession s = session;
        return s == null ? 0 : s.throttledMillis();
    }

    @Override
    public boolean connected() {
        return isConnected();
    }

    @Override
    public boolean sealed() {
        return cursor.getManagedLedger().isTerminated();
    }

    @Override
    public long secondsWithoutProgress() {
        if (backlog() == 0) {
            emptyNanos = System.nanoTime();
        }
        SegmentSession s = session;
        return Math.min(s == null ? Long.MAX_VALUE : s.secondsWithoutProgress(),
                TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - emptyNanos));
    }

    @Override
    public void closeIdleProducers(long idleNanos) {
        if (state == State.Started && cursor.isClosed()) { // a read that waits for entries is told nothing
            cursorClosed();
            return;
        }
        SegmentSession s = session;
        if (s != null) {
            tellCursor(s);
            s.closeIdleProducers(idleNanos);
        }
    }
}
