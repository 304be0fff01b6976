// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.TopicRecord;
import georep.plugin.source.PeerClient;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** The status of topics: what the record says, and what the owner of each segment says. */
final class StatusReport {
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    private final GeorepPlugin plugin;

    StatusReport(GeorepPlugin plugin) {
        this.plugin = plugin;
    }

    CompletableFuture<String> topic(TopicName topic) {
        return report(topic).thenApply(ObjectNode::toString);
    }

    /** All scalable topics of a namespace, one after another: {namespace, topics: […]}. */
    CompletableFuture<String> namespace(NamespaceName ns) {
        ObjectNode n = JSON.createObjectNode().put("namespace", ns.toString());
        ArrayNode topics = n.putArray("topics");
        return plugin.records().resources().listScalableTopicsAsync(ns).thenCompose(names -> {
            CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
            for (String name : names.stream().sorted().toList()) {
                all = all.thenCompose(x -> report(TopicName.get(name))).thenAccept(topics::add);
            }
            return all;
        }).thenApply(x -> n.toString());
    }

    private CompletableFuture<ObjectNode> report(TopicName topic) {
        return plugin.records().fresh(topic).thenCompose(m -> plugin.records()
                .desired(topic).thenCompose(desired -> {
                    ObjectNode n = head(topic, m);
                    ObjectNode denied = n.putObject("denied");
                    desired.denied().forEach(denied::put);
                    if (!desired.troubles().isEmpty()) {
                        n.put("trouble", "namespace properties: " + String.join("; ", desired.troubles()));
                    }
                    // Pulsar lets nobody load a segment then: asking them takes half a minute
                    if (desired.remotes().isEmpty()) {
                        n.put("trouble", "the namespace's clusters do not include this one: replication stays as it "
                                + "is").putArray("segments");
                        return CompletableFuture.completedFuture(withBudgets(n));
                    }
                    return TopicRecord.of(m).remotes().isEmpty() ? segments(topic, m, n)
                            : convergence(topic, n).thenCompose(x -> segments(topic, m, n));
                }));
    }

    /** By the leader, who alone knows its peers. */
    private CompletableFuture<Void> convergence(TopicName topic, ObjectNode n) {
        return asked(topic, "convergence").handle((json, e) -> {
            if (e != null) {
                n.putObject("convergence").put("error", FutureUtil.unwrapCompletionException(e).getMessage());
            } else {
                n.set("convergence", SegmentStatus.tree(json));
            }
            return null;
        });
    }

    private CompletableFuture<String> asked(TopicName topic, String call) {
        try {
            return PeerClient.of(plugin.pulsar().getAdminClient()).get(topic, call);
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private CompletableFuture<ObjectNode> segments(TopicName topic, ScalableTopicMetadata m, ObjectNode n) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        ArrayNode segments = n.putArray("segments");
        m.getSegments().values().stream().sorted(Comparator.comparingLong(SegmentInfo::segmentId)).forEach(s -> {
            ObjectNode one = segments.addObject();
            one.put("id", s.segmentId()).put("range", range(s)).put("state", s.state().name());
            if (s.isLegacy()) {
                one.put("legacy", s.legacyTopicName());
            } else {
                all.add(ask(topic, s, one));
            }
        });
        return FutureUtil.waitForAll(all).thenApply(x -> withBudgets(n));
    }

    /** The budget is a broker's, not a segment's: each is told once. */
    private static ObjectNode withBudgets(ObjectNode n) {
        ObjectNode budgets = n.putObject("budgets");
        for (JsonNode s : n.path("segments")) {
            JsonNode budget = ((ObjectNode) s).remove("budget");
            if (budget != null) {
                budgets.set(s.path("broker").asText(), budget);
            }
        }
        return n;
    }

    /** A segment's hash range as its name has it, "8000-ffff". */
    static String range(SegmentInfo s) {
        return SegmentTopicName.formatDescriptor(s.hashRange(), s.segmentId()).substring(0, 9);
    }

    private ObjectNode head(TopicName topic, ScalableTopicMetadata m) {
        TopicRecord r = TopicRecord.of(m);
        ObjectNode n = JSON.createObjectNode().put("topic", topic.toString())
                .put("cluster", plugin.pulsar().getConfiguration().getClusterName())
                .put("instance", r.instance()).put("epoch", m.getEpoch()).put("leaderTerm", r.term());
        ObjectNode remotes = n.putObject("remotes");
        r.remotes().forEach(c -> remotes.putObject(c).put("generation", r.generation(c))
                .put("paused", r.paused().contains(c)));
        return n;
    }

    private CompletableFuture<Void> ask(TopicName topic, SegmentInfo s, ObjectNode into) {
        return asked(topic, "segment/" + SegmentTopicName.formatDescriptor(s.hashRange(), s.segmentId()))
                .handle((json, e) -> {
                    if (e != null) {
                        into.put("error", FutureUtil.unwrapCompletionException(e).getMessage());
                    } else if (SegmentStatus.tree(json) instanceof ObjectNode o) {
                        into.setAll(o);
                    }
                    return null;
                });
    }
}
