// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.PeerClient;
import jakarta.ws.rs.core.Response;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Parked entries of a whole topic: each segment's owner is asked, one after another, for they are read from the logs.
 */
final class ParkedReport {
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();
    private static final int NAMED = 5;

    private final GeorepPlugin plugin;
    private final PeerClient owners;
    private final TopicName topic;
    private final List<SegmentInfo> segments;
    private final String remote;

    /** Over the topic's segments, or the one that is given; an empty remote is every remote. */
    ParkedReport(GeorepPlugin plugin, PeerClient owners, TopicName topic, ScalableTopicMetadata m, Long only,
                 String remote) {
        this.plugin = plugin;
        this.owners = owners;
        this.topic = topic;
        this.remote = remote;
        this.segments = m.getSegments().values().stream().filter(s -> !s.isLegacy())
                .filter(s -> only == null || s.segmentId() == only)
                .sorted(Comparator.comparingLong(SegmentInfo::segmentId)).toList();
        if (only != null && segments.isEmpty()) {
            throw new RestException(Response.Status.NOT_FOUND, "segment: " + topic + " has no segment " + only);
        }
    }

    private static String call(SegmentInfo s, String call) {
        return "segment/" + SegmentTopicName.formatDescriptor(s.hashRange(), s.segmentId()) + "/" + call;
    }

    /** {topic, cluster, parkedTotal, parked: […], errors: […]}. */
    CompletableFuture<ObjectNode> list(boolean heads) {
        ObjectNode n = JSON.createObjectNode().put("topic", topic.toString())
                .put("cluster", plugin.pulsar().getConfiguration().getClusterName()).put("parkedTotal", 0L);
        n.putArray("parked");
        n.putArray("errors");
        CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
        for (SegmentInfo s : segments) {
            all = all.thenCompose(x -> owners.get(topic, call(s, "parked"), "remote", remote, "heads",
                    String.valueOf(heads))).handle((json, e) -> {
                        add(n, s, json, e);
                        return null;
                    });
        }
        return all.thenApply(x -> n);
    }

    private static void add(ObjectNode n, SegmentInfo s, String json, Throwable e) {
        if (e != null) {
            ((ArrayNode) n.get("errors")).addObject().put("segment", s.segmentId())
                    .put("error", SegmentOwners.message(e));
            return;
        }
        var one = SegmentStatus.tree(json);
        n.put("parkedTotal", n.path("parkedTotal").asLong() + one.path("parkedTotal").asLong());
        one.path("parked").forEach(p -> ((ArrayNode) n.get("parked")).addObject().put("segment", s.segmentId())
                .put("range", StatusReport.range(s)).setAll((ObjectNode) p));
    }

    /**
     * Releases one parked position. Which segment its ledger belongs to, the segments know: each is asked until one has
     * it. A ledger is only in one, so that not more than one can.
     */
    CompletableFuture<String> skip(long ledger, long entry) {
        String body = JSON.createObjectNode().put("remote", remote).put("ledger", ledger).put("entry", entry)
                .toString();
        return skip(0, ledger + ":" + entry, body, new ArrayList<>(), false);
    }

    private CompletableFuture<String> skip(int i, String position, String body, List<String> unknown,
                                           boolean replicated) {
        if (i == segments.size()) {
            return refuse(position, unknown, replicated);
        }
        SegmentInfo s = segments.get(i);
        return owners.post(topic, call(s, "skip"), body).handle((json, e) -> {
            if (e == null) {
                return CompletableFuture.completedFuture(JSON.createObjectNode().put("skipped", position)
                        .put("segment", s.segmentId()).toString());
            }
            int status = FutureUtil.unwrapCompletionException(e) instanceof PulsarAdminException a
                    ? a.getStatusCode() : 0;
            boolean refused = status == Response.Status.CONFLICT.getStatusCode();
            if (!refused && status != Response.Status.NOT_FOUND.getStatusCode()) {
                unknown.add("segment " + s.segmentId() + ": " + SegmentOwners.message(e));
            }
            return skip(i + 1, position, body, unknown, replicated || refused);
        }).thenCompose(f -> f);
    }

    private CompletableFuture<String> refuse(String position, List<String> unknown, boolean replicated) {
        if (!unknown.isEmpty()) {
            throw new RestException(Response.Status.SERVICE_UNAVAILABLE, position + " was not skipped, and not every "
                    + "segment could be asked: " + String.join("; ", unknown));
        }
        if (!replicated) {
            throw new RestException(Response.Status.NOT_FOUND, "remote: " + topic + " is not replicated to " + remote);
        }
        return list(false).thenApply(n -> {
            List<String> parked = new ArrayList<>();
            n.path("parked").forEach(p -> parked.add(p.path("position").asText() + " (" + p.path("reason").asText()
                    + ")"));
            long more = n.path("parkedTotal").asLong() - Math.min(NAMED, parked.size());
            throw new RestException(Response.Status.CONFLICT, position + " is not parked for " + remote + "; parked: "
                    + (parked.isEmpty() ? "nothing" : String.join(", ", parked.subList(0, Math.min(NAMED,
                    parked.size())))) + (more > 0 ? " and " + more + " more" : ""));
        });
    }
}
