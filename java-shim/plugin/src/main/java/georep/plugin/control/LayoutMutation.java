// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.scalable.HashRange;
import org.apache.pulsar.common.scalable.SegmentInfo;

/**
 * A ConvergeMutation applied to Pulsar's record of a topic, as the broker's own split and merge do it: parents sealed
 * and naming their children, children naming their parents, one epoch for all. Immutable.
 */
public final class LayoutMutation {
    private final long expectEpoch;
    private final long expectTerm;
    private final long nowMillis;
    private final List<SegmentInfo> children = new ArrayList<>();
    private final Map<Long, List<Long>> childrenOf = new LinkedHashMap<>();
    private final Map<String, String> properties = new TreeMap<>();

    /** {@code nowMillis} is when the parents were sealed: the same in every try. */
    public LayoutMutation(JsonNode mutation, long nowMillis) {
        this.expectEpoch = mutation.path("expectEpoch").asLong();
        this.expectTerm = mutation.path("expectTerm").asLong();
        this.nowMillis = nowMillis;
        Iterator<JsonNode> ids = mutation.path("childIds").elements();
        for (JsonNode op : mutation.path("ops")) {
            List<Long> parents = new ArrayList<>();
            op.path("parents").forEach(p -> parents.add(p.asLong()));
            List<Long> born = new ArrayList<>();
            for (JsonNode c : op.path("children")) {
                long id = ids.next().asLong();
                born.add(id);
                children.add(SegmentInfo.active(id, HashRange.of(c.path("range").path("start").asInt(),
                        c.path("range").path("end").asInt()), parents, expectEpoch + 1, nowMillis));
            }
            parents.forEach(p -> childrenOf.put(p, born));
        }
        mutation.path("properties").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().asText()));
    }

    /** Segments to be created before the layout is published. */
    public List<SegmentInfo> children() {
        return children;
    }

    /** Segments to be sealed before the layout is published. */
    public List<SegmentInfo> parents(ScalableTopicMetadata m) {
        return childrenOf.keySet().stream().map(m.getSegments()::get).toList();
    }

    public boolean splits() {
        return children.stream().anyMatch(c -> c.parentIds().size() == 1);
    }

    public boolean merges() {
        return children.stream().anyMatch(c -> c.parentIds().size() > 1);
    }

    public long nowMillis() {
        return nowMillis;
    }

    /** @throws IllegalStateException where the record is not the one that the mutation was made for */
    public void check(ScalableTopicMetadata m) {
        long term = TopicRecord.of(m).term();
        if (term != expectTerm) {
            throw new IllegalStateException("the topic has a leader of term " + term + ", not " + expectTerm);
        }
        if (m.getEpoch() != expectEpoch) {
            throw new IllegalStateException("the layout has epoch " + m.getEpoch() + ", not " + expectEpoch);
        }
        if (!children.isEmpty() && m.getNextSegmentId() != children.get(0).segmentId()) {
            throw new IllegalStateException("the next segment is " + m.getNextSegmentId() + ", not "
                    + children.get(0).segmentId());
        }
        childrenOf.keySet().forEach(p -> {
            SegmentInfo s = m.getSegments().get(p);
            if (s == null || !s.isActive()) {
                throw new IllegalStateException("segment " + p + " is not active");
            }
        });
    }

    /** @throws IllegalStateException as {@link #check} */
    public ScalableTopicMetadata applyTo(ScalableTopicMetadata m) {
        check(m);
        Map<Long, SegmentInfo> segments = new LinkedHashMap<>(m.getSegments());
        childrenOf.forEach((p, born) -> segments.put(p, segments.get(p).sealed(expectEpoch + 1, nowMillis, born)));
        children.forEach(c -> segments.put(c.segmentId(), c));
        Map<String, String> all = new TreeMap<>(m.getProperties() == null ? Map.of() : m.getProperties());
        properties.forEach((k, v) -> {
            if (v.isEmpty()) {
                all.remove(k);
            } else {
                all.put(k, v);
            }
        });
        return ScalableTopicMetadata.builder().epoch(children.isEmpty() ? m.getEpoch() : m.getEpoch() + 1)
                .nextSegmentId(m.getNextSegmentId() + children.size()).segments(segments).properties(all)
                .autoScalePolicy(m.getAutoScalePolicy()).build();
    }
}
