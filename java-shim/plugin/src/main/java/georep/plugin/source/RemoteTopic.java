// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Json;
import georep.nativelib.Peer;
import georep.nativelib.Window;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.VerbatimProducer;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.HashRange;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A scalable topic on one remote cluster: handshake, layout, schema versions, watermarks. One per (topic, remote),
 * shared by all segments of the topic on this broker. Thread-safe.
 *
 * <pre>
 *   local layout known -> POST state (ours) -> theirs -> core: may we write?
 *        no plugin / incompatible / denied: told to the segments, asked again with pauses of up to minutes
 *        supported:                layout to the segments; epochs watched; a new epoch -> POST state again
 * </pre>
 */
final class RemoteTopic {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteTopic.class);
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;

    /**
     * What the remote said last.
     *
     * @param state           georep.v1.PeerState bytes
     * @param maxMessageBytes largest message that it takes
     */
    record State(byte[] state, String instance, long epoch, int maxMessageBytes) { }

    /** A segment's driver; called in order, on any thread and under the topic's lock: must not block. */
    interface Listener {
        /** Writing is allowed, on this layout. */
        void onSupported(State s);

        /** Nothing may be written; why is one of Window's BLOCK numbers. */
        void onBlocked(int why, String reason);

        /** The client for the remote is closed or out of date: the replicator has to be made anew. */
        void onClientClosed();
    }

    /** References held; guarded by the SourceBroker. */
    int users;

    private final SourceBroker broker;
    private final TopicName topic;
    private final String remote;
    private final PulsarClientImpl client;
    private final PeerClient peer;
    private final LocalTopic local;
    private final SchemaMapper schemas;
    private final LocalTopic.Listener onLocal = s -> localReady();
    private final CopyOnWriteArraySet<Listener> listeners = new CopyOnWriteArraySet<>();
    private final Retry soon = new Retry(250, 30_000);
    private final Retry seldom;
    private final Map<Long, String> names = new HashMap<>();
    private final TreeMap<Long, String> active = new TreeMap<>();
    private RemoteLayoutWatch watch;
    private boolean asking;
    private boolean askAgain;
    private boolean timerSet;
    private long watchedEpoch;
    private boolean closed;
    private State state;
    private int block = Window.BLOCK_HANDSHAKE;
    private String reason = "handshake";
    private String denial; // what the remote refuses this cluster's credentials for although the handshake passed

    RemoteTopic(SourceBroker broker, TopicName topic, String remote, PulsarClientImpl client, PeerClient peer,
                LocalTopic local) {
        this.broker = broker;
        this.topic = topic;
        this.remote = remote;
        this.client = client;
        this.peer = peer;
        this.local = local;
        this.seldom = new Retry(1000, TimeUnit.SECONDS.toMillis(broker.config().handshakeRetrySeconds()));
        this.schemas = new SchemaMapper(broker.pulsar(), client);
    }

    void start() {
        local.add(onLocal);
    }

    void close() {
        RemoteLayoutWatch w;
        synchronized (this) {
            closed = true;
            w = watch;
            watch = null;
        }
        local.remove(onLocal);
        if (w != null) {
            w.close();
        }
    }

    /** Adds a segment and tells it where things stand. */
    void add(Listener l) {
        synchronized (this) {
            listeners.add(l);
            if (block == 0) {
                l.onSupported(state);
            } else {
                l.onBlocked(block, reason);
            }
        }
    }

    void remove(Listener l) {
        listeners.remove(l);
    }

    String remote() {
        return remote;
    }

    PulsarClientImpl client() {
        return client;
    }

    LocalTopic local() {
        return local;
    }

    SchemaMapper schemas() {
        return schemas;
    }

    /** The topic of a remote segment, or null when the state does not have it. */
    synchronized String segmentTopic(long id) {
        return names.get(id);
    }

    /** Some active segment's topic, or null before the handshake: schemas belong to all segments of a topic. */
    synchronized String anyActiveTopic() {
        return active.isEmpty() ? null : active.firstEntry().getValue();
    }

    /** "supported", or why not. */
    synchronized String status() {
        return block != 0 ? reason : denial != null ? denial : "supported";
    }

    // ---- handshake

    private synchronized void localReady() {
        if (state == null) {
            ask();
        }
    }

    /** Reads the remote's state again, soon and once. */
    void refresh() {
        ask();
    }

    /** The cluster may have been removed, or have other addresses or credentials. */
    void checkClient() {
        if (ended()) {
            ask();
        }
    }

    private boolean ended() {
        return client.isClosed() || !broker.clients().isCurrent(remote, client);
    }

    /** A session, the watch or a call failed. Where that was for our credentials, the handshake tells more. */
    void failure(Throwable e) {
        checkClient();
        if (!denies(FutureUtil.unwrapCompletionException(e))) {
            return;
        }
        synchronized (this) {
            if (closed || block != 0) {
                return; // asked again by the timer
            }
            boolean known = denial != null;
            denial = text(e);
            if (known) {
                return;
            }
            LOG.warn("[{}] {}", topic, denial);
        }
        ask();
    }

    /** A session was opened: the remote takes our credentials. */
    void admitted() {
        synchronized (this) {
            denial = null;
        }
    }

    private static boolean denies(Throwable e) {
        int code = e instanceof PulsarAdminException p ? p.getStatusCode() : 0;
        return code == UNAUTHORIZED || code == FORBIDDEN || VerbatimProducer.isDenied(e);
    }

    /** What went wrong, for status; the credentials are named where it is them. */
    String text(Throwable e) {
        Throwable cause = FutureUtil.unwrapCompletionException(e);
        return denies(cause) ? remote + " refuses this cluster's credentials: "
                + String.valueOf(cause.getMessage()).replaceAll("\\s+", " ") : cause.toString();
    }

    private void ask() {
        LocalTopic.Snapshot mine = local.snapshot();
        boolean ended = ended();
        synchronized (this) {
            if (closed || mine == null) {
                return; // asked again when the local layout is read
            }
            if (asking) {
                askAgain = true;
                return;
            }
            asking = !ended;
            askAgain = false;
        }
        if (ended) {
            listeners.forEach(Listener::onClientClosed);
            return;
        }
        call(() -> peer.post(topic, "state", Json.fromProto("PeerState", mine.state()))).whenComplete((json, e) -> {
            try {
                if (e != null) {
                    failed(FutureUtil.unwrapCompletionException(e));
                } else {
                    answered(mine, json);
                }
            } catch (Exception bad) {
                blocked(Window.BLOCK_INCOMPATIBLE, "the answer of " + remote + " is not understood: "
                        + bad.getMessage(), seldom);
            }
        });
    }

    private void answered(LocalTopic.Snapshot mine, String json) throws IOException {
        byte[] bytes = Json.toProto("PeerState", json);
        Peer.Check check = Peer.check(mine.state(), bytes);
        switch (check.verdict()) {
            case SUPPORTED -> supported(bytes, json);
            case UNSUPPORTED -> blocked(Window.BLOCK_UNSUPPORTED, check.reason() + ": " + check.detail(), seldom);
            default -> blocked(Window.BLOCK_INCOMPATIBLE, check.reason() + ": " + check.detail(), seldom);
        }
    }

    private void supported(byte[] bytes, String json) throws IOException {
        JsonNode n = ObjectMapperFactory.getMapper().reader().readTree(json);
        State s = new State(bytes, n.path("instance").asText(), n.path("layout").path("epoch").asLong(),
                n.path("maxMessageBytes").asInt());
        RemoteLayoutWatch start = null;
        synchronized (this) {
            asking = false;
            if (closed) {
                return;
            }
            if (state != null && state.instance.equals(s.instance) && state.epoch > s.epoch) {
                again(soon); // an older answer that came from a broker which has not heard yet
                return;
            }
            names(n.path("layout").path("segments"));
            if (state != null && !state.instance.equals(s.instance)) {
                schemas.forget();
            }
            state = s;
            if (block == Window.BLOCK_DENIED) {
                denial = null;
            }
            block = 0;
            reason = "supported";
            soon.reset();
            seldom.reset();
            if (watch == null) {
                start = watch = new RemoteLayoutWatch(client, topic, this::onEpoch, this::failure);
            }
            if (askAgain || watchedEpoch > s.epoch) {
                again(soon);
            }
            listeners.forEach(l -> l.onSupported(s));
        }
        if (start != null) {
            LOG.info("[{}] replication to {} is supported, layout epoch {}", topic, remote, s.epoch);
            start.start();
        }
    }

    private void names(JsonNode segments) {
        active.clear();
        for (JsonNode g : segments) {
            long id = g.path("id").asLong();
            String legacy = g.path("legacy").asText();
            String name = !legacy.isEmpty() ? legacy : SegmentTopicName.fromParent(topic, HashRange.of(
                    g.path("range").path("start").asInt(), g.path("range").path("end").asInt()), id).toString();
            names.put(id, name);
            if (g.path("state").asText().equals("SEGMENT_STATE_ACTIVE")) {
                active.put(id, name);
            }
        }
    }

    private void failed(Throwable e) {
        int code = e instanceof PulsarAdminException p ? p.getStatusCode() : 0;
        if (code == NOT_FOUND || code == 405) {
            blocked(Window.BLOCK_UNSUPPORTED, "no plugin or no such topic in " + remote, seldom);
        } else if (denies(e)) {
            blocked(Window.BLOCK_DENIED, text(e), seldom);
        } else {
            synchronized (this) {
                asking = false;
                if (state == null) {
                    reason = "handshake: " + e.getMessage();
                }
                again(soon); // a remote that has answered before keeps its last layout meanwhile
            }
            LOG.debug("[{}] {} does not answer: {}", topic, remote, e.toString());
        }
    }

    private void blocked(int why, String text, Retry pause) {
        synchronized (this) {
            asking = false;
            if (closed) {
                return;
            }
            if (block != why || !withoutNumbers(text).equals(withoutNumbers(reason))) { // a token expired 5 s ago, 6 s
                LOG.warn("[{}] nothing is written to {}: {}", topic, remote, text);
            }
            block = why;
            reason = text;
            again(pause);
            listeners.forEach(l -> l.onBlocked(why, text));
        }
    }

    private static String withoutNumbers(String text) {
        return text.replaceAll("[0-9]+", "");
    }

    /** Under the lock. */
    private void again(Retry pause) {
        if (!timerSet && !closed) {
            timerSet = true;
            broker.timer().schedule(() -> {
                synchronized (this) {
                    timerSet = false;
                }
                ask();
            }, pause.next(), TimeUnit.MILLISECONDS);
        }
    }

    private void onEpoch(long epoch) {
        synchronized (this) {
            watchedEpoch = epoch;
            denial = null;
            if (state != null && state.epoch == epoch) {
                return;
            }
        }
        ask();
    }

    // ---- calls for one segment

    /** POST watermark; the answer's JSON. */
    CompletableFuture<String> watermark(String json) {
        return call(() -> peer.post(topic, "watermark", json));
    }

    /** An admin client that is closed throws instead of answering. */
    private static CompletableFuture<String> call(Supplier<CompletableFuture<String>> call) {
        try {
            return call.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
