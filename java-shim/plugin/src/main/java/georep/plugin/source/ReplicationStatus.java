// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the replicators of one broker do, for the status call and for metrics. Thread-safe; nothing blocks. */
public final class ReplicationStatus {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicationStatus.class);

    /** One (segment, remote), as its replicator shows it. */
    public interface Replicator {
        /** The scalable topic. */
        TopicName parent();

        /** The segment topic, segment://…. */
        String segmentTopic();

        long segment();

        String remote();

        /** Entries that are not deleted from the cursor. */
        long backlog();

        /** Milliseconds since 1970 at which the oldest un-replicated entry was published; 0 = none, -1 = not known. */
        long oldestPublishTime();

        /** JSON of georep.v1.WindowStatus, or null before there is a window. */
        String windowStatusJson();

        /** "supported", or why the remote is not written to. */
        String remoteStatus();

        /** The last thing that went wrong, or empty. */
        String trouble();

        /** Whether a producer to the remote is open. */
        boolean connected();

        /** Entries that have left the cursor without having been sent, since replication to the remote began. */
        long lapsed();

        /** Where the cursor stood when the last of them was found, "ledger:entry"; empty where there is none. */
        String horizon();

        /** For how long this session has waited for the slow path's budget, a slot or tokens, in all. */
        long throttledMillis();

        /** Seconds since something was stored or deleted last. */
        long secondsWithoutProgress();

        /** Nothing is published to the segment any more. */
        boolean sealed();

        /** Closes producers without traffic for so long. */
        void closeIdleProducers(long idleNanos);
    }

    /** Field of a segment's status: by cluster, how far it is from being drained; what a gate asks for. */
    public static final String UNDRAINED = "undrained";

    private final SourceBroker broker;
    private final Set<Replicator> replicators = ConcurrentHashMap.newKeySet();
    private final RetiredCounters retired = new RetiredCounters();

    ReplicationStatus(SourceBroker broker) {
        this.broker = broker;
    }

    /** Adds a replicator that starts. */
    public void add(Replicator r) {
        replicators.add(r);
    }

    /** A window ended; its last counters keep counting in the broker's totals. */
    public void retire(Replicator r, String lastWindowStatusJson) {
        if (lastWindowStatusJson != null) {
            retired.add(r.remote(), parse(lastWindowStatusJson));
        }
    }

    /** Removes a replicator that ended for good. */
    public void remove(Replicator r) {
        replicators.remove(r);
    }

    /** What one replicator throws must not end the timer that serves all. */
    void closeIdleProducers(long idleNanos) {
        for (Replicator r : replicators) {
            try {
                r.closeIdleProducers(idleNanos);
            } catch (RuntimeException e) {
                LOG.warn("[{}] to {}: idle producers were not looked for", r.segmentTopic(), r.remote(), e);
            }
        }
    }

    /** All replicators of this broker. */
    public Collection<Replicator> all() {
        return replicators;
    }

    /** Every counter of this broker's windows, ended ones too, by remote cluster and name. */
    public Map<String, Map<String, Long>> counters() {
        Map<String, Map<String, Long>> totals = new TreeMap<>();
        retired.addTo(totals);
        for (Replicator r : replicators) {
            Map<String, Long> m = totals.computeIfAbsent(r.remote(), k -> new TreeMap<>());
            counters(r).forEach((name, value) -> m.merge(name, value, Long::sum));
        }
        return totals;
    }

    /** The counters of a replicator's window, by name, those that are not zero; none where it has no window. */
    static Map<String, Long> counters(Replicator r) {
        Map<String, Long> m = new TreeMap<>();
        String json = r.windowStatusJson();
        if (json != null) {
            RetiredCounters.each(parse(json), m::put);
        }
        return m;
    }

    RetiredCounters retired() {
        return retired;
    }

    /** The budget's georep.v1.BudgetStatus. */
    public JsonNode budget() {
        return parse(broker.budget().statusJson());
    }

    /**
     * A topic's replicators on this broker: [{segment, segmentTopic, remote, remoteStatus, backlog, delaySeconds,
     * connected, stalled, trouble, throttledMillis, lapsed, horizon, window: WindowStatus}]. delaySeconds is -1 where
     * it is not known.
     */
    public ArrayNode topic(TopicName topic) {
        ArrayNode out = mapper().createArrayNode();
        replicators.stream().filter(r -> r.parent().equals(topic))
                .sorted((a, b) -> a.remote().equals(b.remote()) ? Long.compare(a.segment(), b.segment())
                        : a.remote().compareTo(b.remote()))
                .forEach(r -> out.add(one(r)));
        return out;
    }

    /** The same for one replicator. */
    public ObjectNode one(Replicator r) {
        ObjectNode n = mapper().createObjectNode();
        long backlog = r.backlog();
        n.put("segment", r.segment());
        n.put("segmentTopic", r.segmentTopic());
        n.put("remote", r.remote());
        n.put("remoteStatus", r.remoteStatus());
        n.put("backlog", backlog);
        n.put("delaySeconds", delaySeconds(r, backlog));
        n.put("connected", r.connected());
        boolean stalled = stalled(r, backlog);
        n.put("stalled", stalled);
        if (stalled) {
            n.put("stallReason", stallReason(r));
        }
        n.put("trouble", r.trouble());
        n.put("throttledMillis", r.throttledMillis());
        if (r.lapsed() > 0) {
            n.put("lapsed", r.lapsed());
            n.put("horizon", r.horizon());
        }
        String w = r.windowStatusJson();
        if (w != null) {
            n.set("window", parse(w));
        }
        return n;
    }

    /** Backlog and no progress for the configured time. */
    boolean stalled(Replicator r, long backlog) {
        return r.secondsWithoutProgress() >= broker.config().stallSeconds() && backlog > 0;
    }

    /** What a segment without progress waits for: kebab-case, of a small set. */
    static String stallReason(Replicator r) {
        String w = r.windowStatusJson();
        String reason = w == null ? "starting" : parse(w).path("reason").asText();
        if (!"supported".equals(r.remoteStatus()) && !reason.equals("credentials")) {
            return "remote";
        }
        return reason.isEmpty() ? "no-receipt" : reason; // nothing is waited for but what was sent
    }

    /** From a segment's status: what it still has to replicate to the remote; null: it has no cursor for it. */
    public static Long undrained(String segmentStatusJson, String remote) {
        JsonNode n = parse(segmentStatusJson).path(UNDRAINED).get(remote);
        return n == null ? null : n.asLong();
    }

    static long delaySeconds(Replicator r, long backlog) {
        long t = r.oldestPublishTime();
        if (t > 0) {
            return Math.max(0, TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis() - t));
        }
        return backlog == 0 || t == 0 ? 0 : -1;
    }

    static ObjectMapper mapper() {
        return ObjectMapperFactory.getMapper().getObjectMapper();
    }

    static JsonNode parse(String json) {
        try {
            return mapper().readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e); // the library's own JSON
        }
    }
}
