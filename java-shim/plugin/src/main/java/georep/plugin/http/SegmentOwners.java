// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.source.PeerClient;
import georep.plugin.source.Trees;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;

/** Calls the brokers that own the segments of one topic. Legacy segments are left out. */
final class SegmentOwners {
    private final PeerClient brokers;
    private final TopicName topic;
    private final List<SegmentInfo> segments;

    SegmentOwners(PeerClient brokers, TopicName topic, ScalableTopicMetadata m) {
        this.brokers = brokers;
        this.topic = topic;
        this.segments = m.getSegments().values().stream().filter(s -> !s.isLegacy())
                .sorted(Comparator.comparingLong(SegmentInfo::segmentId)).toList();
    }

    TopicName topic() {
        return topic;
    }

    /** By id, sealed ones too. */
    List<SegmentInfo> segments() {
        return segments;
    }

    private static String path(SegmentInfo s, String call) {
        return "segment/" + SegmentTopicName.formatDescriptor(s.hashRange(), s.segmentId()) + "/" + call;
    }

    CompletableFuture<String> get(SegmentInfo s, String call, String remote) {
        return brokers.get(topic, path(s, call), "remote", remote);
    }

    CompletableFuture<String> post(SegmentInfo s, String call, String body, String... query) {
        return brokers.post(topic, path(s, call), body, query);
    }

    /** {topic, cluster, segments: [{id, range, state, error | remotes: {B: BootstrapStatus}}]}. */
    CompletableFuture<ObjectNode> starts(String cluster, String remote) {
        ObjectNode n = Trees.node().put("topic", topic.toString()).put("cluster", cluster);
        var all = n.putArray("segments");
        List<CompletableFuture<?>> asked = new ArrayList<>();
        for (SegmentInfo s : segments) {
            ObjectNode one = all.addObject().put("id", s.segmentId()).put("range", StatusReport.range(s))
                    .put("state", s.state().name());
            asked.add(get(s, "bootstrap", remote).handle((json, e) -> e == null
                    ? one.set("remotes", SegmentStatus.tree(json).path("remotes")) : one.put("error", message(e))));
        }
        return FutureUtil.waitForAll(asked).thenApply(x -> n);
    }

    /** What the other broker said, or why it could not be asked. */
    static String message(Throwable e) {
        Throwable cause = FutureUtil.unwrapCompletionException(e);
        return cause instanceof PulsarAdminException a && a.getHttpError() != null ? a.getHttpError()
                : String.valueOf(cause.getMessage());
    }
}
