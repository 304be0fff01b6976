// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Actions;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
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
 */
final class WindowDriver implements RemoteTopic.Listener, BudgetService.Client, SegmentSender.Sink,
        RemoteQuestions.Asker {
    private static final Logger LOG = LoggerFactory.getLogger(WindowDriver.class);
    private static final int TICK_MILLIS = 200;
    private static final int MAX_ACTIONS = 64;
    private static final int RESTART_SECONDS = 5;
    private static final String ENDS = "replication of this segment starts again";

    private record Skip(int event, EntryKey position, CompletableFuture<Void> done) { }

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
    private final Actions actions;
    private final GateDriver gate;
    private final BudgetService budget;
    private final int remoteNumber;
    private final long budgetKey;
    private final WindowStatusView status;
    private final Senders senders;
    private final DelayTracker delay = new DelayTracker();
    private final HeldEntries held;
    private final Map<Long, Integer> sentBytes = new HashMap<>();
    private final List<Skip> skips = new ArrayList<>();
    private final List<Position> toDelete = new ArrayList<>();
    private final ParkedInWindow parked = new ParkedInWindow();
    private Arena arena;
    private long inFlightDelta;
    private boolean dirty;
    private boolean wakeRead;
    private boolean tickSet;
    private boolean closed;
    private boolean broken;
    private boolean blocked = true;
    private boolean ended;
    private final AtomicBoolean restarting = new AtomicBoolean();
    private volatile boolean supported;
    private volatile boolean gateOpen;
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
        this.actions = window.actions();
        this.budget = broker.budget();
        this.remoteNumber = budget.remote(host.remote());
        this.budgetKey = budget.register(this);
        this.status = new WindowStatusView(window);
        this.held = new HeldEntries(host, delay);
        this.senders = new Senders(s -> new SegmentSender(remote, s, producerName, serial, broker.timer(), this));
        this.gate = new GateDriver(broker, local, self.segment(), name, serial, host::ancestorBacklog, this::onGate);
    }

    /** Begins: asks for the handshake and for the parents' state. */
    void start() {
        run(() -> {
            remote.add(this);
            gate.start();
        }, () -> { });
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
        if (delay.size() == 0) {
            progressNanos = System.nanoTime(); // waiting for something to do is no stall
        }
        dirty |= held.offer(o, window);
    }

    /** The segment is sealed, and all that it holds was offered. */
    void sourceEnded() {
        run(() -> {
            if (!ended) {
                ended = true;
                window.sourceEnded();
                dirty = true;
            }
        }, () -> { });
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

    /** Where the cursor stands, and how many positions have left it since this session began; read in reverse order. */
    void cursorAt(Position mark, long left) {
        run(() -> {
            window.cursor(mark.getLedgerId(), mark.getEntryId(), left);
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
            apply(); // what was said before, a block above all, comes before
            try (Layout l = Layout.fromState(s.state())) {
                window.remoteInstance(s.instance());
                window.setRemote(l, s.maxMessageBytes());
            }
            if (blocked) {
                trouble = ""; // it was that
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
            skips.add(new Skip(window.skip(ledger, entry), new EntryKey(ledger, entry), done));
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
                s.done.completeExceptionally(new IllegalArgumentException(s.position.ledger() + ":" + s.position.entry()
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
        apply();
        settle();
        if (wakeRead) {
            wakeRead = false;
            read();
        }
        setTick();
    }

    /** Gives the window the events collected, and does what it says. */
    private void apply() {
        if (!dirty) {
            return;
        }
        dirty = false;
        arena = Arena.ofThread();
        do {
            arena.reserve(window.needed());
            int n = status.during(() -> window.step(arena.address(), arena.capacity()));
            arena.filled(window.arenaUsed());
            held.keepOffered(window);
            answerSkips();
            for (int i = 0; i < n; i++) {
                carryOut(i);
            }
        } while (window.more());
        arena.shrink();
        arena = null;
        senders.flush();
        if (!toDelete.isEmpty()) {
            List<Position> batch = new ArrayList<>(toDelete);
            toDelete.clear();
            host.delete(batch);
        }
        wakeRead = true;
    }

    private void settle() {
        long heldDelta = held.takeDelta();
        if (heldDelta != 0 || inFlightDelta != 0) {
            long inFlight = inFlightDelta;
            inFlightDelta = 0;
            budget.count(remoteNumber, heldDelta, inFlight);
        }
    }

    private void carryOut(int i) {
        EntryKey k = new EntryKey(actions.ledger(i), actions.entry(i));
        switch (actions.kind(i)) {
            case Actions.SEND -> send(i, k);
            case Actions.DELETE -> {
                toDelete.add(k.position());
                if (parked.remove(k)) {
                    broker.parked().remove(localSegment, host.remote(), k.ledger(), k.entry());
                }
            }
            case Actions.RELEASE -> held.release(k);
            case Actions.ASK_BUDGET -> budget.request(budgetKey, remoteNumber, actions.bytes(i));
            case Actions.RETURN_BUDGET -> budget.giveBack(budgetKey);
            case Actions.ASK_WATERMARK -> questions.watermark(actions.segment(i));
            case Actions.ASK_SCHEMA -> questions.schema(actions.version(i));
            case Actions.CLOSE_PRODUCER -> senders.close(actions.segment(i));
            case Actions.PARKED -> {
                parked.add(k, actions.passed(i));
                if (broker.parked().add(localSegment, host.remote(), k.ledger(), k.entry(), actions.reason(i))) {
                    LOG.warn("[{}] {}:{} is parked, reason {}: replication of this segment needs an operator", name,
                            k.ledger(), k.entry(), Placement.reason(actions.reason(i)));
                }
            }
            case Actions.LAPSE -> {
                LOG.warn("[{}] {} entries have left the cursor without having been sent (a backlog quota, a truncation,"
                        + " the TTL or a lost ledger took them); it stands at {}:{}", name, actions.bytes(i),
                        k.ledger(), k.entry());
                host.lapsed(k.position(), actions.bytes(i));
            }
            default -> LOG.error("[{}] action {} is not known", name, actions.kind(i));
        }
    }

    private void send(int i, EntryKey k) {
        long id = actions.sendId(i);
        int headerLength = actions.headerLength(i);
        ByteBuf header = PulsarByteBufAllocator.DEFAULT.directBuffer(headerLength);
        arena.copyTo(header, actions.headerAddress(i), headerLength);
        int length = actions.payloadLength(i);
        long from = actions.payloadAddress(i);
        ByteBuf payload;
        if (length == 0) {
            payload = Unpooled.EMPTY_BUFFER;
        } else if (arena.contains(from)) {
            payload = arena.part(from, length);
        } else {
            payload = held.slice(k, from, length);
        }
        sentBytes.put(id, length);
        inFlightDelta += length;
        senders.to(actions.segment(i)).send(id, k.ledger(), k.entry(), actions.messages(i), header, payload);
        host.sent(held.token(k), actions.messages(i), headerLength + length);
    }

    private void read() {
        int entries = window.wantEntries();
        if (entries > 0 && budget.room(remoteNumber, this)) {
            read(entries);
        } else if (entries > 0 && (held.isEmpty() || onlyReadingHelps())) {
            read(1); // whatever others hold, every segment moves on
        }
    }

    private void read(int entries) {
        if (!host.read(entries, window.wantBytes()) && onlyReadingHelps()) {
            host.readOn(window.wantBytes());
        }
    }

    private boolean onlyReadingHelps() {
        return sentBytes.isEmpty() && waitsForChunks();
    }

    /** What is held is stored and waits for the last chunk of its message: nothing but reading on ends that. */
    private boolean waitsForChunks() {
        JsonNode s = ReplicationStatus.parse(window.statusJson());
        String reason = s.path("reason").asText();
        return s.path("openUnits").asLong() > 0 && (reason.isEmpty() || reason.equals("chunks"));
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
        for (EntryKey k : parked.takeGone(this::gone)) {
            LOG.warn("[{}] {}:{} was parked and has left the cursor", name, k.ledger(), k.entry());
            window.skip(k.ledger(), k.entry());
            broker.parked().remove(localSegment, host.remote(), k.ledger(), k.entry());
        }
    }

    private boolean gone(EntryKey k) {
        return host.gone(k.position());
    }

    /** Closes producers that had nothing to send for so long. */
    void closeIdleProducers(long idleNanos) {
        if (senders.anyOpen()) {
            run(() -> senders.closeIdle(idleNanos), () -> { });
        }
    }

    // ---- end

    /**
     * Ends the window; completes when every entry is released and no producer is left, with the window's last status,
     * JSON of georep.v1.WindowStatus. To be called once.
     */
    CompletableFuture<String> close() {
        CompletableFuture<String> done = new CompletableFuture<>();
        serial.execute(() -> {
            closed = true;
            abandonSkips();
            remote.remove(this);
            gate.close();
            budget.unregister(budgetKey, remoteNumber);
            String last = status.last();
            window.close(); // nothing is borrowed any more
            held.releaseAll();
            senders.shutdown().thenRun(() -> done.complete(last));
        });
        return done;
    }

    // ---- for status, any thread

    /** Parked entries that others pass by and that the cursor still has. */
    long passed() {
        return parked.passed(this::gone);
    }

    boolean isSupported() {
        return supported;
    }

    boolean isGateOpen() {
        return gateOpen;
    }

    /** JSON of georep.v1.WindowStatus, or null when closed. */
    String statusJson() {
        return status.json();
    }

    /** Milliseconds since 1970 at which the oldest entry that was read and is not deleted was published; 0 = none. */
    long oldestPublishTime() {
        return delay.oldest();
    }

    long progressNanos() {
        return progressNanos;
    }

    long throttledMillis() {
        return budget.throttledMillis(budgetKey);
    }

    String trouble() {
        return trouble;
    }
}
