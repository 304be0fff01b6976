// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.impl.VerbatimProducer;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends of one source segment to one remote segment, over one {@link VerbatimProducer} session at a time.
 *
 * <pre>
 *   IDLE --send--> OPENING --ready--> OPEN --lost, close--> CLOSING --closed--> IDLE
 *    `--send soon after a failure--> PAUSED --time--> OPENING     `--closed, sends wait--> OPENING
 *                     `--failed--> IDLE
 * </pre>
 *
 * <p>A send that was never given to a session is reported UNKNOWN, not REFUSED: an earlier owner may have stored it,
 * and the core must not take that for an overtaken entry. All methods run on the window's executor.
 */
final class SegmentSender implements VerbatimProducer.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentSender.class);

    private enum State { IDLE, PAUSED, OPENING, OPEN, CLOSING }

    /** The window's side. Called on its executor. */
    interface Sink {
        void outcome(long sendId, Outcome outcome);

        void sealed(long segment);

        /** A session ended or could not be opened; the text is for status. */
        void trouble(long segment, String text);
    }

    private record Send(long id, long ledger, long entry, int messages, ByteBuf header, ByteBuf payload) {
        void release() {
            header.release();
            payload.release();
        }
    }

    private final RemoteTopic remote;
    private final long segment;
    private final String producerName;
    private final Executor serial;
    private final ScheduledExecutorService timer;
    private final Sink sink;
    private final Deque<Send> waiting = new ArrayDeque<>();
    private State state = State.IDLE;
    private VerbatimProducer producer;
    private final Retry openRetry = new Retry(50, 10_000);
    private long openNotBeforeNanos = System.nanoTime();
    private boolean closeRequested;
    private boolean dirty;
    private long lastUseNanos = System.nanoTime();
    private Runnable whenIdle;

    SegmentSender(RemoteTopic remote, long segment, String producerName, Executor serial,
                  ScheduledExecutorService timer, Sink sink) {
        this.remote = remote;
        this.timer = timer;
        this.segment = segment;
        this.producerName = producerName;
        this.serial = serial;
        this.sink = sink;
    }

    /** Takes both buffers over. */
    void send(long id, long ledger, long entry, int messages, ByteBuf header, ByteBuf payload) {
        Send s = new Send(id, ledger, entry, messages, header, payload);
        lastUseNanos = System.nanoTime();
        if (state == State.OPEN) {
            pass(s);
            return;
        }
        waiting.add(s);
        if (state == State.IDLE) {
            openWhenDue();
        }
    }

    /** Opens a session, not faster than failures allow. */
    private void openWhenDue() {
        long wait = openNotBeforeNanos - System.nanoTime();
        if (wait <= 0) {
            open();
            return;
        }
        state = State.PAUSED;
        timer.schedule(() -> serial.execute(() -> {
            if (state == State.PAUSED) {
                open();
            }
        }), wait, TimeUnit.NANOSECONDS);
    }

    private void failed() {
        openNotBeforeNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(openRetry.next());
    }

    private void pass(Send s) {
        boolean taken = producer.send(s.id, s.ledger, s.entry, s.messages, s.header, s.payload);
        s.header.release();
        if (taken) {
            dirty = true;
        } else {
            sink.outcome(s.id, Outcome.UNKNOWN);
        }
    }

    /** Writes what has been sent since the last call. */
    void flush() {
        if (dirty) {
            dirty = false;
            if (state == State.OPEN) {
                producer.flush();
            }
        }
    }

    private void open() {
        String topic = remote.segmentTopic(segment);
        closeRequested = false;
        VerbatimProducer p;
        try {
            if (topic == null) {
                throw new IllegalStateException("remote segment " + segment + " has no name");
            }
            state = State.OPENING;
            p = VerbatimProducer.open(remote.client(), topic, producerName, remote.schemas().announced(), this);
        } catch (RuntimeException e) {
            state = State.IDLE;
            failed();
            failWaiting(e);
            return;
        }
        producer = p;
        p.ready().whenComplete((x, e) -> serial.execute(() -> {
            if (producer != p || state != State.OPENING) {
                return;
            }
            if (e == null) {
                opened();
            } else {
                openFailed(e);
            }
        }));
    }

    private void opened() {
        state = State.OPEN;
        openRetry.reset();
        remote.admitted();
        Send s;
        while ((s = waiting.poll()) != null) {
            pass(s);
        }
        flush();
    }

    private void openFailed(Throwable e) {
        state = State.IDLE;
        producer = null;
        failed();
        if (VerbatimProducer.isSealed(e)) {
            sink.sealed(segment);
        } else if (VerbatimProducer.isGone(e)) {
            remote.refresh();
        } else if (VerbatimProducer.isWithoutSchema(e)) {
            remote.schemas().learn(remote.segmentTopic(segment)).exceptionally(x -> {
                LOG.debug("{}: schema of remote segment {}: {}", producerName, segment, x.toString());
                return null; // asked again when the next session is refused
            });
        }
        failWaiting(e);
        becameIdle();
    }

    private void failWaiting(Throwable why) {
        String text = remote.text(why);
        LOG.debug("{} to {}/{}: {}", producerName, remote.status(), segment, text);
        sink.trouble(segment, text);
        remote.failure(why);
        Send s;
        while ((s = waiting.poll()) != null) {
            s.release();
            sink.outcome(s.id, Outcome.UNKNOWN);
        }
    }

    /** Closes the session; everything not answered gets its outcome. */
    void close() {
        if (state == State.OPENING || state == State.OPEN) {
            state = State.CLOSING;
            closeRequested = !producer.hasEnded(); // one that ended by itself is told of, whoever comes first
            producer.shutdown();
        } else if (state == State.PAUSED) {
            state = State.IDLE;
        }
        Send s;
        while ((s = waiting.poll()) != null) {
            s.release();
            sink.outcome(s.id, Outcome.UNKNOWN);
        }
    }

    /** Closes the session and runs the task when no producer is left behind. */
    void shutdown(Runnable then) {
        whenIdle = then;
        close();
        becameIdle();
    }

    private void becameIdle() {
        if (state == State.IDLE && whenIdle != null) {
            Runnable r = whenIdle;
            whenIdle = null;
            r.run();
        }
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isIdle() {
        return state == State.IDLE;
    }

    /** Nanoseconds since the last send; 0 while sends have no outcome. */
    long idleNanos() {
        VerbatimProducer p = producer;
        return !waiting.isEmpty() || p != null && p.inFlight() > 0 ? 0 : System.nanoTime() - lastUseNanos;
    }

    // ---- the session's side, on Netty threads

    @Override
    public void outcome(VerbatimProducer p, long sendId, Outcome outcome) {
        serial.execute(() -> sink.outcome(sendId, outcome));
    }

    @Override
    public void sealed(VerbatimProducer p) {
        serial.execute(() -> sink.sealed(segment));
    }

    @Override
    public void closed(VerbatimProducer p) {
        serial.execute(() -> {
            if (producer != p) {
                return;
            }
            if (!closeRequested) {
                sink.trouble(segment, "the session ended");
            }
            state = State.IDLE;
            producer = null;
            becameIdle();
            if (state == State.IDLE && !waiting.isEmpty()) {
                openWhenDue();
            }
        });
    }
}
