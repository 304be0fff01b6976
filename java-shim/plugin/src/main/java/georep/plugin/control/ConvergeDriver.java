// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Converge;
import georep.nativelib.Json;
import georep.nativelib.Result;
import georep.nativelib.StatusException;
import georep.plugin.GeorepConfig;
import georep.plugin.source.SerialExecutor;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the core's convergence machine of one topic while this broker leads it: tells it what happens and does what it
 * says, one event after the other, on borrowed threads. Nothing blocks. Thread-safe.
 *
 * <pre>
 *   record, members, wishes, peers' pushes --event--> machine --action--> push, answer, change, verdict, wake
 * </pre>
 */
public final class ConvergeDriver {
    private static final Logger LOG = LoggerFactory.getLogger(ConvergeDriver.class);
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();
    /** Verdicts that say "try again"; a change that failed may have sealed a segment already. */
    private static final Set<String> AGAIN = Set.of("CONVERGE_CODE_BUSY", "CONVERGE_CODE_WAITING",
            "CONVERGE_CODE_FAILED");
    private static final String DONE = "CONVERGE_CODE_OK";
    private static final long AGAIN_MILLIS = 300;
    private static final long TOGETHER_MILLIS = 5_000;
    private static final long FIRST_DRAIN_MILLIS = 500;
    private static final long MAX_DRAIN_MILLIS = 30_000;
    /** The convergence lag is not told longer than it was by more than this part of it. */
    private static final long DRAIN_PART = 8;

    private final String topic;
    private final ConvergeHost host;
    private final PeerExchange peers;
    private final ScheduledExecutorService executor;
    private final Converge machine;
    private final SerialExecutor serial;
    private volatile long term;
    // what follows is touched by the serial executor's tasks only
    private final Map<Long, Wish> wishes = new HashMap<>();
    private final Map<String, ObjectNode> told = new HashMap<>(); // by event
    private long lastNumber;
    private boolean leading;
    private boolean closed;
    private String stored = "";
    private long epoch = -1;
    private final WakeUp wakeUp;

    /** Makes the machine of a topic; it does nothing before {@link #lead}. */
    public ConvergeDriver(String topic, String cluster, GeorepConfig config, String profile, ConvergeHost host,
                          PeerExchange peers, ScheduledExecutorService executor) {
        this.topic = topic;
        this.host = host;
        this.peers = peers;
        this.executor = executor;
        this.machine = Converge.open(Json.toProto("ConvergeConfig", JSON.createObjectNode().put("cluster", cluster)
                .put("topic", topic).put("antiEntropyMillis", TimeUnit.SECONDS.toMillis(config.antiEntropySeconds()))
                .put("retryFirstMillis", config.pushRetryMillis())
                .put("retryMaxMillis", TimeUnit.SECONDS.toMillis(config.pushRetryMaxSeconds()))
                .put("defaultProfile", profile.equals("m1") ? "PROFILE_M1" : "PROFILE_PIP486")
                .put("cutCap", config.cutCapBytes()).toString()));
        this.serial = new SerialExecutor(executor, this::settle, e -> { });
        this.wakeUp = new WakeUp(executor, () -> serial.execute(this::tick));
    }

    // ------------------------------------------------------------------ events

    /** This broker leads, with a term above that of every leader before; the record and the members come first. */
    public void lead(long term) {
        this.term = term;
        peers.enter(topic, this);
        serial.execute(() -> {
            leading = true;
            step("lead", JSON.createObjectNode().put("term", term));
        });
    }

    /** That it leads with. */
    public long term() {
        return term;
    }

    /** The record as it was read last. */
    public void stored(String record) {
        serial.execute(() -> tellStored(record));
    }

    /** The replication set. */
    public void members(Collection<String> clusters) {
        serial.execute(() -> {
            ObjectNode n = JSON.createObjectNode();
            clusters.forEach(n.putArray("clusters")::add);
            tell("members", n);
        });
    }

    /** What the local policy allows, and which boundaries it would remove now. */
    public void policy(int maxSegments, int maxBuckets, Collection<Integer> cold) {
        serial.execute(() -> {
            tell("caps", JSON.createObjectNode().put("maxSegments", maxSegments).put("maxBuckets", maxBuckets));
            ObjectNode n = JSON.createObjectNode();
            cold.forEach(n.putArray("boundaries")::add);
            tell("cold", n);
        });
    }

    /** The bytes of a ConvergeEvent, as the exchange gave it: what a peer pushes, or how a push to it ended. */
    void deliver(byte[] event) {
        serial.execute(() -> {
            if (!closed) {
                machine.step(event);
            }
        });
    }

    /** A wish to split; waits while the machine says so, at most until the given time. */
    public CompletableFuture<Void> split(long segment, long waitMillis) {
        return wish("wishSplit", JSON.createObjectNode().put("segment", segment), waitMillis);
    }

    /** A wish to merge: ends with verdict MARKED until everybody agrees. */
    public CompletableFuture<Void> merge(long left, long right, long waitMillis) {
        return wish("wishMerge", JSON.createObjectNode().put("left", left).put("right", right), waitMillis);
    }

    /** A wish for other bucket starts: more of them come at once, fewer are a mark. */
    public CompletableFuture<Void> rebucket(long segment, Collection<Integer> starts, long waitMillis) {
        ObjectNode n = JSON.createObjectNode().put("segment", segment);
        starts.forEach(n.putArray("bucketStarts")::add);
        return wish("wishRebucket", n, waitMillis);
    }

    /** Takes an operator's mark away: of a boundary, or, where that is 0, of buckets of the segment that starts so. */
    public CompletableFuture<Void> cancelMark(int boundary, int segmentStart, long waitMillis) {
        return wish("cancelMark", JSON.createObjectNode().put("boundary", boundary).put("segment", segmentStart),
                waitMillis);
    }

    private CompletableFuture<Void> wish(String event, ObjectNode content, long waitMillis) {
        Wish w = new Wish(event, content, System.currentTimeMillis() + waitMillis, new CompletableFuture<>());
        serial.execute(() -> put(w));
        return w.future();
    }

    private void put(Wish w) {
        if (closed) {
            w.future().completeExceptionally(new IllegalStateException("the controller is closing"));
            return;
        }
        long number = ++lastNumber;
        wishes.put(number, w);
        try {
            step(w.event(), w.content().deepCopy().put("wish", number));
        } catch (StatusException e) { // not an event: a number out of range
            wishes.remove(number);
            w.future().completeExceptionally(new VerdictException("CONVERGE_CODE_UNSPECIFIED", e.getMessage()));
        }
    }

    /** ConvergeStatus, now; null once closed. */
    public JsonNode status() {
        try {
            return parse(Json.fromProto("ConvergeStatus", machine.status(System.currentTimeMillis())));
        } catch (StatusException | IllegalStateException e) {
            return null;
        }
    }

    /** This broker does not lead any more, or the topic does not replicate any more. */
    public void resign() {
        serial.execute(() -> {
            if (leading && !closed) {
                leading = false;
                step("resign", JSON.createObjectNode());
            }
        });
    }

    /** Ends the machine; completes when nothing of it is under way to peers any more. */
    public CompletableFuture<Void> end() {
        resign();
        CompletableFuture<Void> ended = new CompletableFuture<>();
        serial.execute(() -> {
            try {
                settle();
            } finally { // what comes next for this topic waits for it
                close().thenRun(() -> ended.complete(null));
            }
        });
        return ended;
    }

    private CompletableFuture<Void> close() {
        closed = true;
        wakeUp.cancel();
        machine.close();
        RuntimeException e = new IllegalStateException("the controller is closing");
        wishes.values().forEach(w -> w.future().completeExceptionally(e));
        return peers.leave(topic, this);
    }

    // ------------------------------------------------------------------ the machine

    /** An event that does not come with every round of every topic; those that do never become JSON. */
    private void step(String event, JsonNode content) {
        if (closed) {
            return;
        }
        ObjectNode n = JSON.createObjectNode().put("nowMillis", System.currentTimeMillis());
        n.set(event, content);
        machine.step(Json.toProto("ConvergeEvent", n.toString()));
    }

    /** What is looked at every minute, and mostly is what it was. */
    private void tell(String event, ObjectNode content) {
        if (!content.equals(told.get(event))) {
            step(event, content);
            told.put(event, content);
        }
    }

    private void tellStored(String record) {
        if (record.equals(stored)) {
            return;
        }
        step("stored", JSON.getNodeFactory().textNode(record));
        remember(record);
    }

    private void remember(String record) {
        stored = record;
        long e = parse(record).path("epoch").asLong();
        if (e != epoch) {
            epoch = e;
            askDrained(e, System.nanoTime());
        }
    }

    /**
     * The owners of sealed segments are other brokers, and nobody tells when the last of them is drained. What drains
     * at once is asked for often; what takes long, as when a remote is down, costs a call in half a minute.
     */
    private void askDrained(long forEpoch, long sinceNanos) {
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
        executor.schedule(() -> serial.execute(() -> {
            if (closed || epoch != forEpoch) {
                return;
            }
            host.drained(forEpoch).whenComplete((yes, e) -> serial.execute(() -> {
                if (epoch != forEpoch) {
                    return; // sealed more meanwhile, and asks again
                }
                if (e == null && yes) {
                    step("drained", JSON.getNodeFactory().booleanNode(true));
                } else {
                    askDrained(forEpoch, sinceNanos);
                }
            }));
        }), Math.min(MAX_DRAIN_MILLIS, Math.max(FIRST_DRAIN_MILLIS, waited / DRAIN_PART)), TimeUnit.MILLISECONDS);
    }

    /** After every burst of events: what the machine wants. */
    private void settle() {
        if (closed) {
            return;
        }
        if (leading && !host.leads()) {
            leading = false;
            step("resign", JSON.createObjectNode());
        }
        Result result = machine.result();
        result.actions().forEach(this::act);
        wake(result.wakeAtMillis());
    }

    private void act(Result.Action a) {
        switch (a.kind()) {
            case Converge.PUSH -> peers.push(a.message());
            case Converge.ANSWER -> peers.replied(a.message());
            case Converge.MUTATE -> mutate(parse(Json.fromProto("ConvergeMutation", a.message())));
            case Converge.VERDICT -> verdict(parse(Json.fromProto("ConvergeVerdict", a.message())));
            default -> LOG.error("[{}] unknown action {}", topic, a.kind());
        }
    }

    private void mutate(JsonNode mutation) {
        String token = mutation.path("token").asText();
        LOG.info("[{}] layout change ({}): {} operations on epoch {}", topic, mutation.path("why").asText(),
                mutation.path("ops").size(), mutation.path("expectEpoch").asText("0"));
        host.change(mutation).whenComplete((record, e) -> {
            if (e == null) {
                serial.execute(() -> {
                    step("committed", JSON.createObjectNode().put("token", token).put("stored", record));
                    remember(record);
                });
                return;
            }
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            LOG.warn("[{}] layout change failed, to be tried again: {}", topic, cause.toString());
            host.stored().whenComplete((now, unread) -> serial.execute(() -> {
                if (unread == null) {
                    tellStored(now);
                }
                step("mutationFailed", JSON.createObjectNode().put("token", token)
                        .put("text", String.valueOf(cause.getMessage())));
            }));
        });
    }

    private void verdict(JsonNode a) {
        Wish w = wishes.remove(a.path("wish").asLong());
        if (w == null) {
            return;
        }
        String code = a.path("code").asText();
        if (AGAIN.contains(code) && System.currentTimeMillis() + AGAIN_MILLIS < w.giveUpAt()) {
            executor.schedule(() -> serial.execute(() -> put(w)), AGAIN_MILLIS, TimeUnit.MILLISECONDS);
            return;
        }
        executor.execute(() -> {
            if (code.equals(DONE)) {
                w.future().complete(null);
            } else {
                w.future().completeExceptionally(new VerdictException(code, a.path("text").asText()));
            }
        });
    }

    private void wake(long due) {
        // what is far away comes with that of other topics, in one call to each peer
        long at = due - System.currentTimeMillis() < 2 * TOGETHER_MILLIS ? due
                : (due + TOGETHER_MILLIS - 1) / TOGETHER_MILLIS * TOGETHER_MILLIS;
        if (!closed) {
            wakeUp.at(at);
        }
    }

    private void tick() {
        if (!closed) {
            machine.tick(System.currentTimeMillis());
        }
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new IllegalStateException(e); // what the library or the broker has written
        }
    }
}
