// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Layout;
import georep.nativelib.Peer;
import georep.plugin.GeorepPlugin;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.apache.pulsar.metadata.api.Notification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The layout of a scalable topic in this cluster, read from the metadata store and read again at every change. One per
 * topic, shared by all its segments and remotes on this broker. Thread-safe.
 */
final class LocalTopic implements ScalableTopicResources.MetadataPathListener {
    private static final Logger LOG = LoggerFactory.getLogger(LocalTopic.class);

    /**
     * One reading.
     *
     * @param state     georep.v1.PeerState bytes of this cluster
     * @param epoch     layout epoch
     * @param topics    segment topic name by segment id; legacy segments have their persistent:// topic
     * @param sealed    ids of sealed segments
     */
    record Snapshot(byte[] state, long epoch, Map<Long, String> topics, Set<Long> sealed) {
        /** The whole DAG; to be closed by the caller. */
        Layout layout() {
            return Layout.fromState(state);
        }
    }

    /** Told after every reading, on a metadata thread; must not block. */
    interface Listener {
        void onLocal(Snapshot s);
    }

    /** References held; guarded by the SourceBroker. */
    int users;

    private final SourceBroker broker;
    private final TopicName topic;
    private final ScalableTopicResources resources;
    private final CopyOnWriteArraySet<Listener> listeners = new CopyOnWriteArraySet<>();
    private final Retry retry = new Retry(500, 30_000);
    private volatile Snapshot snapshot;
    private volatile boolean closed;

    LocalTopic(SourceBroker broker, TopicName topic) {
        this.broker = broker;
        this.topic = topic;
        this.resources = broker.pulsar().getPulsarResources().getScalableTopicResources();
    }

    void start() {
        resources.registerPathListener(this);
        read();
    }

    void close() {
        closed = true;
        resources.deregisterPathListener(this);
    }

    @Override
    public String getMetadataPath() {
        return resources.topicPath(topic);
    }

    @Override
    public void onNotification(Notification n) {
        read();
    }

    /** The last reading, or null before the first. */
    Snapshot snapshot() {
        return snapshot;
    }

    /** Adds a listener and tells it the last reading, if there is one. */
    void add(Listener l) {
        listeners.add(l);
        Snapshot s = snapshot;
        if (s != null) {
            l.onLocal(s);
        }
    }

    void remove(Listener l) {
        listeners.remove(l);
    }

    private void read() {
        if (closed) {
            return;
        }
        resources.getScalableTopicMetadataAsync(topic, true).thenAccept(m -> m.ifPresent(this::accept))
                .exceptionally(e -> {
                    long pause = retry.next();
                    LOG.warn("[{}] cannot read the layout, again in {} ms: {}", topic, pause, e.toString());
                    broker.timer().schedule(this::read, pause, TimeUnit.MILLISECONDS);
                    return null;
                });
    }

    private synchronized void accept(ScalableTopicMetadata m) {
        String json;
        try {
            json = ObjectMapperFactory.getMapper().writer().writeValueAsString(m);
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
        byte[] state = Peer.buildState(json, broker.cluster(), topic.toString(), 0, 0,
                broker.pulsar().getConfiguration().getMaxMessageSize(), broker.defaultProfile(), GeorepPlugin.VERSION);
        Map<Long, String> topics = new HashMap<>();
        Set<Long> sealed = new java.util.HashSet<>();
        for (SegmentInfo s : m.getSegments().values()) {
            topics.put(s.segmentId(), s.isLegacy() ? s.legacyTopicName()
                    : SegmentTopicName.fromParent(topic, s.hashRange(), s.segmentId()).toString());
            if (s.isSealed()) {
                sealed.add(s.segmentId());
            }
        }
        Snapshot next = new Snapshot(state, m.getEpoch(), Map.copyOf(topics), Set.copyOf(sealed));
        Snapshot last = snapshot;
        if (last != null && last.epoch > next.epoch) {
            return; // an older reading that came in late
        }
        snapshot = next;
        retry.reset();
        for (Listener l : listeners) {
            l.onLocal(next);
        }
    }
}
