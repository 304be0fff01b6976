// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Layout;
import georep.nativelib.Placement;
import georep.nativelib.Status;
import georep.nativelib.Window;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Relays between one segment's broker side and the core's window: what happened goes in as events, what the core
 * answers is carried out. Nothing is decided here.
 *
 * <pre>
 *   cursor reads --offer--.                                  .--> SegmentSender per remote segment
 *   receipts ------------- > events -> Window.step -> actions --> cursor deletes, budget, watermark, schema calls
 *   remote, gate, timer --'      (serial executor)           `--> release of the entries read
 * </pre>
 *
 * <p>Every public method may be called by any thread and returns at once; the work runs on a {@link SerialExecutor},
 * and one step serves a burst of events. The broker is never called while events are being collected, only between
 * steps.
 *
 * <p>An entry's buffer is released exactly once: at the window's RELEASE, when the window refuses it, or when the
 * driver is closed.
 */
final class WindowDriver implements RemoteTopic.Listener, BudgetService.Client, SegmentSender.Sink,
        RemoteQuestions.Asker {
    private static final Logger LOG = LoggerFactory.getLogger(WindowDriver.class);
    private static final int TICK_MILLIS = 200;
    private static final int MAX_ACTIONS = 64;
    private static final int RESTART_SECONDS = 5;
    private static final String ENDS = "replication of this segment starts again";

    private record Key(long ledger, long entry) { }

    private record Skip(int event, Key position, CompletableFuture<Void> done) { }

    private final SourceBroker broker;
    private final SourceIdentity self;
    private final String name;
    private final String localSegment;
    private final String producerName;
    private final RemoteTopic remote;
    private final SegmentSession.Segment host;
    private final RemoteQuestions questions;
    private final SerialExecutor serial;
    private final Window window;
    private final GateDriver gate;
    private final BudgetService budget;
    private final int remoteNumber;
    private final long budgetKey;
    private final Map<Long, SegmentSender> senders = new HashMap<>();
    private final Map<Key, HeldEntry> held = new HashMap<>();
    private final DelayTracker delay = new DelayTracker();
    private final Map<Long, Integer> sentBytes = new HashMap<>();
    private final List<HeldEntry> offered = new ArrayList<>();
    private final List<Skip> skips = new ArrayList<>();
    private final List<Position> toDelete = new ArrayList<>();
    private final Set<Key> parked = ConcurrentHashMap.newKeySet();
    private Arena arena;
    private long heldDelta;
    private long inFlightDelta;
    private boolean dirty;
    private boolean wakeRead;
    private boolean tickSet;
    private boolean closed;
    private boolean broken;
    private boolean blocked = true;
    private final AtomicBoolean restarting = new AtomicBoolean();
    private volatile boolean supported;
    private volatile boolean gateOpen;
    private volatile boolean anyOpen;
    private volatile long progressNanos = System.nanoTime();
    private volatile String trouble = "";

    WindowDriver(SourceBroker broker, SourceIdentity self, String producerName, RemoteTopic remote, LocalTopic local,
                 byte[] config, SegmentSession.Segment host) {
        this.broker = broker;
        this.self = self;
        this.localSegment = host.segmentTopic();
        this.name = localSegment + " -> " + host.remote();
        this.producerName = producerName;
        this.remote = remote;
        this.host = host;
        this.questions = new RemoteQuestions(remote, broker.cluster(), self, host.segmentTopic(), producerName, this);
        this.serial = new SerialExecutor(broker.workers(), this::step, this::failed);
        this.window = Window.open(config, MAX_ACTIONS);
        this.budget = broker.budget();
        this.remoteNumber = budget.remote(host.remote());
        this.budgetKey = budget.register(this);
        this.gate = new GateDriver(broker, local, self.segment(), name, serial, host::ancestorBacklog, this::onGate);
    }

    /** Begins: asks for the handshake and for the parents' state. */
    void start() {
        remote.add(this);
        gate.start();
    }

    // ---- events from the broker

    /** Entries read, in cursor order; each is released through {@link SegmentSession.Segment#released}. */
    void offer(List<SegmentSession.Offer> entries) {
        run(() -> offerAll(entries), () -> release(entries));
    }

    private void offerAll(List<SegmentSession.Offer> entries) {
        int i = 0;
        try {
            for (; i < entries.size(); i++) {
                offerOne(entries.get(i));
            }
        } finally {
            release(entries.subList(i, entries.size())); // those left over by a failure
        }
    }

    private void release(List<SegmentSession.Offer> entries) {
        entries.forEach(o -> host.released(o.entry(), o.token()));
    }

    private void offerOne(SegmentSession.Offer o) {
        Key k = new Key(o.entry().getLedgerId(), o.entry().getEntryId());
        if (held.containsKey(k)) {
            host.released(o.entry(), o.token()); // read again after a rewind; the window still has the first one
            return;
        }
        if (delay.size() == 0) {
            progressNanos = System.nanoTime(); // waiting for something to do is no stall
        }
        HeldEntry h = new HeldEntry(o);
        h.index = window.offer(h.address, h.length, o.flags(), k.ledger, k.entry);
        offered.add(h);
        dirty = true;
    }

    /** Outcome of {@link SegmentSession.Segment#delete}. */
    void deleted(List<Position> positions, boolean ok) {
        run(() -> {
            for (Position p : positions) {
                if (ok) {
                    window.deleted(p.getLedgerId(), p.getEntryId());
                    delay.remove(p.getLedgerId(), p.getEntryId());
                } else {
                    window.deleteFailed(p.getLedgerId(), p.getEntryId());
                }
            }
            if (ok) {
                progressNanos = System.nanoTime();
            }
            dirty = true;
        }, () -> { });
    }

    /** A read may be possible again. */
    void wakeReader() {
        run(() -> wakeRead = true, () -> { });
    }

    // ---- events from the remote

    @Override
    public void onSupported(RemoteTopic.State s) {
        run(() -> {
            try (Layout l = Layout.fromState(s.state())) {
                window.remoteInstance(s.instance());
                window.setRemote(l, s.maxMessageBytes());
            }
            blocked = false;
            supported = true;
            dirty = true;
        }, () -> { });
    }

    @Override
    public void onBlocked(int why, String reason) {
        run(() -> {
            window.block(why);
            blocked = true;
            supported = false;
            trouble = reason;
            dirty = true;
        }, () -> { });
    }

    @Override
    public void onClientClosed() {
        restartLater();
    }

    /** Once: this session has come to its end, another one is made. */
    private void restartLater() {
        if (restarting.compareAndSet(false, true)) {
            broker.timer().schedule(host::restart, RESTART_SECONDS, TimeUnit.SECONDS);
        }
    }

    private void onGate(boolean open) {
        gateOpen = open;
        window.gate(open);
        dirty = true;
    }

    @Override
    public void granted() {
        run(() -> {
            window.granted();
            dirty = true;
        }, () -> { });
    }

    @Override
    public void roomAgain() {
        wakeReader();
    }

    @Override
    public void outcome(long sendId, Outcome outcome) {
        Integer bytes = sentBytes.remove(sendId);
        if (bytes != null) {
            inFlightDelta -= bytes;
        }
        if (closed || broken) {
            return;
        }
        window.outcome(sendId, switch (outcome) {
            case ACKED -> Window.ACKED;
            case DUPLICATE -> Window.DUPLICATE;
            case REFUSED -> Window.REFUSED;
            case UNKNOWN -> Window.OUTCOME_UNKNOWN;
            case TOO_LARGE -> Window.TOO_LARGE;
            case CHECKSUM_ERROR -> Window.CHECKSUM_ERROR;
        });
        if (outcome == Outcome.ACKED || outcome == Outcome.DUPLICATE) {
            progressNanos = System.nanoTime();
            trouble = "";
        }
        dirty = true;
    }

    @Override
    public void sealed(long segment) {
        if (!closed && !broken) {
            window.segmentSealed(segment);
            dirty = true;
            remote.refresh();
        }
    }

    @Override
    public void watermark(long segment, int status, long ledger, long entry, long part) {
        run(() -> {
            window.watermark(segment, status, ledger, entry, part);
            dirty = true;
        }, () -> { });
    }

    @Override
    public void schemaMapped(byte[] local, byte[] there) {
        run(() -> {
            window.schemaMapped(local, there);
            dirty = true;
        }, () -> { });
    }

    @Override
    public void schemaFailed(byte[] local, String why) {
        run(() -> {
            window.schemaFailed(local);
            trouble = "schema: " + why;
            dirty = true;
        }, () -> { });
    }

    @Override
    public void trouble(long segment, String text) {
        trouble = "segment " + segment + ": " + text;
    }

    // ---- the operator

    void pause(boolean on) {
        run(() -> {
            window.pause(on);
            wakeRead = true;
            dirty = true;
        }, () -> { });
    }

    /**
     * Lets one parked position go. Completes when the window has; fails with an IllegalArgumentException when it is not
     * parked, with an IllegalStateException when this window ends first.
     */
    CompletableFuture<Void> skip(long ledger, long entry) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        run(() -> {
            skips.add(new Skip(window.skip(ledger, entry), new Key(ledger, entry), done));
            dirty = true;
        }, () -> done.completeExceptionally(new IllegalStateException(ENDS)));
        return done;
    }

    /** Says what became of the skips of the last step. */
    private void answerSkips() {
        for (Skip s : skips) {
            if (window.result(s.event) == Status.OK) {
                s.done.complete(null);
            } else {
                s.done.completeExceptionally(new IllegalArgumentException(s.position.ledger + ":" + s.position.entry
                        + " is not parked"));
            }
        }
        skips.clear();
    }

    private void abandonSkips() {
        skips.forEach(s -> s.done.completeExceptionally(new IllegalStateException(ENDS)));
        skips.clear();
    }

    // ---- step

    private void run(Runnable event, Runnable whenClosed) {
        serial.execute(() -> (closed || broken ? whenClosed : event).run());
    }

    /**
     * An event or a step has failed, maybe for want of memory. Events, entries or actions may be lost, so this window
     * cannot go on: it would wait for ever or send what lies behind a lost entry. What is stored is known to the
     * remote, and a new window, which reads from the cursor, finds out.
     */
    private void failed(Throwable e) {
        if (closed || broken) {
            return;
        }
        broken = true;
        arena = null;
        abandonSkips();
        trouble = "internal error: " + e;
        LOG.error("[{}] replication of this segment starts again in {} s", name, RESTART_SECONDS);
        restartLater();
    }

    private void step() {
        if (closed || broken) {
            settle();
            return;
        }
        if (dirty) {
            dirty = false;
            arena = Arena.ofThread();
            do {
                arena.reserve(window.needed());
                int n = window.step(arena.address(), arena.capacity());
                keepOffered();
                answerSkips();
                for (int i = 0; i < n; i++) {
                    carryOut(i);
                }
            } while (window.more());
            arena.shrink();
            arena = null;
            senders.values().forEach(SegmentSender::flush);
            if (!toDelete.isEmpty()) {
                List<Position> batch = new ArrayList<>(toDelete);
                toDelete.clear();
                host.delete(batch);
            }
            anyOpen = senders.values().stream().anyMatch(SegmentSender::isOpen);
            wakeRead = true;
        }
        settle();
        if (wakeRead) {
            wakeRead = false;
            read();
        }
        setTick();
    }

    private void settle() {
        if (heldDelta != 0 || inFlightDelta != 0) {
            long held = heldDelta;
            long inFlight = inFlightDelta;
            heldDelta = 0;
            inFlightDelta = 0;
            budget.count(remoteNumber, held, inFlight);
        }
    }

    private void keepOffered() {
        if (offered.isEmpty()) {
            return;
        }
        for (HeldEntry h : offered) {
            Key k = new Key(h.offer.entry().getLedgerId(), h.offer.entry().getEntryId());
            if (!window.offerKept(h.index)) {
                LOG.debug("[{}] {}:{} was offered again", name, k.ledger, k.entry);
                h.free();
                host.released(h.offer.entry(), h.offer.token());
                continue;
            }
            held.put(k, h);
            heldDelta += h.length;
            delay.add(k.ledger, k.entry, h.offer.publishTime());
        }
        offered.clear();
    }

    private void carryOut(int i) {
        long ledger = window.ledger(i);
        long entry = window.entry(i);
        switch (window.kind(i)) {
            case Window.SEND -> send(i, ledger, entry);
            case Window.DELETE -> {
                toDelete.add(PositionFactory.create(ledger, entry));
                forgetParked(new Key(ledger, entry));
            }
            case Window.RELEASE -> release(held.remove(new Key(ledger, entry)));
            case Window.ASK_BUDGET -> budget.request(budgetKey, remoteNumber, window.bytes(i));
            case Window.RETURN_BUDGET -> budget.giveBack(budgetKey);
            case Window.ASK_WATERMARK -> questions.watermark(window.segment(i));
            case Window.ASK_SCHEMA -> questions.schema(window.version(i));
            case Window.CLOSE_PRODUCER -> {
                SegmentSender s = senders.get(window.segment(i));
                if (s != null) {
                    s.close();
                }
            }
            case Window.PARKED -> {
                parked.add(new Key(ledger, entry));
                if (broker.parked().add(localSegment, host.remote(), ledger, entry, window.reason(i))) {
                    LOG.warn("[{}] {}:{} is parked, reason {}: replication of this segment needs an operator", name,
                            ledger, entry, Placement.reason(window.reason(i)));
                }
            }
            default -> LOG.error("[{}] action {} is not known", name, window.kind(i));
        }
    }

    private void forgetParked(Key k) {
        if (parked.remove(k)) {
            broker.parked().remove(localSegment, host.remote(), k.ledger, k.entry);
        }
    }

    private void send(int i, long ledger, long entry) {
        long id = window.sendId(i);
        int headerLength = window.headerLength(i);
        ByteBuf header = PulsarByteBufAllocator.DEFAULT.directBuffer(headerLength);
        arena.copyTo(header, window.headerAddress(i), headerLength);
        int length = window.payloadLength(i);
        long from = window.payloadAddress(i);
        ByteBuf payload;
        if (length == 0) {
            payload = Unpooled.EMPTY_BUFFER;
        } else if (arena.contains(from)) {
            payload = arena.retainedSlice(from, length);
        } else {
            HeldEntry h = held.get(new Key(ledger, entry));
            payload = h.retainedSlice(from, length);
        }
        sentBytes.put(id, length);
        inFlightDelta += length;
        long segment = window.segment(i);
        senders.computeIfAbsent(segment, s -> new SegmentSender(remote, s, producerName, serial, broker.timer(),
                        this))
                .send(id, ledger, entry, window.messages(i), header, payload);
        host.sent(headerLength + length);
    }

    private void release(HeldEntry h) {
        if (h == null || h.released) {
            return;
        }
        h.released = true;
        heldDelta -= h.length;
        h.free();
        host.released(h.offer.entry(), h.offer.token());
    }

    private void read() {
        int entries = window.wantEntries();
        if (entries > 0 && budget.room(remoteNumber, this)) {
            host.read(entries, window.wantBytes());
        } else if (entries > 0 && (held.isEmpty() || sentBytes.isEmpty() && waitsForChunks())) {
            host.read(1, window.wantBytes()); // whatever others hold, every segment moves on
        }
    }

    /** What is held is stored and waits for the last chunk of its message: nothing but reading on ends that. */
    private boolean waitsForChunks() {
        try {
            JsonNode s = ObjectMapperFactory.getMapper().reader().readTree(window.statusJson());
            String reason = s.path("reason").asText();
            return s.path("openUnits").asLong() > 0 && (reason.isEmpty() || reason.equals("chunks"));
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e); // the library's own JSON
        }
    }

    // ---- time

    private void setTick() {
        if (!tickSet && !blocked && gateOpen && delay.size() > 0) {
            tickSet = true;
            broker.timer().schedule(() -> run(() -> {
                tickSet = false;
                window.tick(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - broker.startNanos()));
                forgetExpired();
                dirty = true;
            }, () -> { }), TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** A parked entry that the cursor has lost (its TTL passed, or the backlog was cleared) needs no operator. */
    private void forgetExpired() {
        parked.removeIf(k -> {
            boolean gone = host.gone(PositionFactory.create(k.ledger, k.entry));
            if (gone) {
                LOG.warn("[{}] {}:{} was parked and has left the cursor", name, k.ledger, k.entry);
                window.skip(k.ledger, k.entry);
                broker.parked().remove(localSegment, host.remote(), k.ledger, k.entry);
            }
            return gone;
        });
    }

    /** Closes producers that had nothing to send for so long. */
    void closeIdleProducers(long idleNanos) {
        if (anyOpen) {
            run(() -> {
                for (SegmentSender s : senders.values()) {
                    if (s.isOpen() && s.idleNanos() > idleNanos) {
                        s.close();
                    }
                }
                senders.values().removeIf(SegmentSender::isIdle);
                anyOpen = senders.values().stream().anyMatch(SegmentSender::isOpen);
            }, () -> { });
        }
    }

    // ---- end

    /** Ends the window; completes when every entry is released and no producer is left. */
    CompletableFuture<Void> close() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        serial.execute(() -> {
            if (closed) {
                done.complete(null);
                return;
            }
            closed = true;
            abandonSkips();
            remote.remove(this);
            gate.close();
            budget.unregister(budgetKey, remoteNumber);
            offered.forEach(h -> held.put(new Key(h.offer.entry().getLedgerId(), h.offer.entry().getEntryId()), h));
            offered.forEach(h -> heldDelta += h.length);
            offered.clear();
            window.close(); // nothing is borrowed any more
            held.values().forEach(this::release);
            held.clear();
            List<CompletableFuture<Void>> producers = new ArrayList<>();
            for (SegmentSender s : senders.values()) {
                CompletableFuture<Void> f = new CompletableFuture<>();
                producers.add(f);
                s.shutdown(() -> f.complete(null));
            }
            CompletableFuture.allOf(producers.toArray(CompletableFuture[]::new)).thenRun(() -> done.complete(null));
        });
        return done;
    }

    // ---- for status, any thread

    boolean isSupported() {
        return supported;
    }

    boolean isGateOpen() {
        return gateOpen;
    }

    /** JSON of georep.v1.WindowStatus, or null when closed. */
    String statusJson() {
        try {
            return window.statusJson();
        } catch (IllegalStateException e) {
            return null;
        }
    }

    /** Milliseconds since 1970 at which the oldest entry that was read and is not deleted was published; 0 = none. */
    long oldestPublishTime() {
        return delay.oldest();
    }

    long progressNanos() {
        return progressNanos;
    }

    String trouble() {
        return trouble;
    }

}
