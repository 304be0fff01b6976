// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Gate;
import georep.nativelib.Layout;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Parent-drain gate of one (source segment, remote): gives the core the source's layout and the backlog of the
 * ancestors it asks about, and passes its answer on. Runs on its owner's executor; nothing here blocks.
 */
final class GateDriver implements LocalTopic.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(GateDriver.class);

    /** Reads how many entries a cursor of a segment still has to replicate; completes with null: no such cursor. */
    interface Backlogs {
        CompletableFuture<Long> backlog(String segmentTopic);
    }

    private final SourceBroker broker;
    private final LocalTopic local;
    private final Executor serial;
    private final Backlogs backlogs;
    private final Consumer<Boolean> answer;
    private final String name;
    private final Gate gate;
    private final Retry retry = new Retry(100, 5_000);
    private final Set<Long> asking = new HashSet<>();
    private LocalTopic.Snapshot snapshot;
    private boolean open;
    private boolean timerSet;
    private boolean closed;

    /**
     * @param serial  executor that runs one task at a time
     * @param answer  receives changes of the gate, on that executor
     */
    GateDriver(SourceBroker broker, LocalTopic local, long segment, String name, Executor serial, Backlogs backlogs,
               Consumer<Boolean> answer) {
        this.broker = broker;
        this.local = local;
        this.serial = serial;
        this.backlogs = backlogs;
        this.answer = answer;
        this.name = name;
        this.gate = Gate.open(segment);
    }

    void start() {
        local.add(this);
    }

    /** On the owner's executor, the last call. */
    void close() {
        closed = true;
        local.remove(this);
        gate.close();
    }

    boolean isOpen() {
        return open;
    }

    @Override
    public void onLocal(LocalTopic.Snapshot s) {
        serial.execute(() -> {
            if (closed) {
                return;
            }
            snapshot = s;
            try (Layout l = s.layout()) {
                gate.layout(l);
            }
            retry.reset();
            pump();
        });
    }

    private void pump() {
        boolean now = gate.isOpen();
        if (now != open) {
            open = now;
            answer.accept(now);
        }
        if (!now) {
            for (long ancestor : gate.ask()) {
                ask(ancestor);
            }
        }
    }

    private void ask(long ancestor) {
        String topic = snapshot.topics().get(ancestor);
        boolean sealed = snapshot.sealed().contains(ancestor); // known before the backlog is read
        if (topic == null || !asking.add(ancestor)) {
            return;
        }
        backlogs.backlog(topic).whenComplete((n, e) -> serial.execute(() -> {
            asking.remove(ancestor);
            if (closed) {
                return;
            }
            if (e == null) {
                gate.backlog(ancestor, sealed, n == null ? 0 : n, n != null);
            } else {
                LOG.debug("[{}] backlog of {}: {}", name, topic, e.toString());
            }
            if (e == null && sealed && n != null && n == 0) {
                retry.reset();
                pump();
            } else {
                later();
            }
        }));
    }

    private void later() {
        if (!timerSet) {
            timerSet = true;
            broker.timer().schedule(() -> serial.execute(() -> {
                timerSet = false;
                if (!closed) {
                    pump();
                }
            }), retry.next(), TimeUnit.MILLISECONDS);
        }
    }
}
