// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.SelfCheck;
import georep.plugin.control.TopicRecords;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * What the broker's own split and merge policy (PIP-483) says of a topic now: how many segments it may have, and every
 * boundary that it would remove. The broker itself looks for one merge at a time and makes it; with peers all that are
 * cold have to be told, so each pair of neighbours is put to the broker's evaluator alone. Thread-safe.
 */
final class ScalePolicy {
    private static final Map<String, Integer> NO_CONSUMERS = Map.of();

    private final PulsarService pulsar;
    private final TopicRecords records;
    private final TopicName topic;

    /**
     * @param maxSegments more are not made by policy
     * @param cold        starts of segments that would be merged with the one before
     */
    record View(int maxSegments, List<Integer> cold) {
    }

    ScalePolicy(PulsarService pulsar, TopicRecords records, TopicName topic) {
        this.pulsar = pulsar;
        this.records = records;
        this.topic = topic;
    }

    CompletableFuture<View> look(SegmentLayout layout, ScalableTopicController controller) {
        long lastMerge = (Long) SelfCheck.LAST_MERGE.get(controller);
        boolean none = layout.getActiveSegments().size() < 2; // no boundary: nobody's load is read
        return config().thenCompose(c -> none || !c.enabled()
                ? CompletableFuture.completedFuture(new View(c.maxSegments(), List.of()))
                : loads(layout).thenApply(l -> new View(c.maxSegments(), cold(layout, l, c, lastMerge))));
    }

    private CompletableFuture<AutoScaleConfig> config() {
        ServiceConfiguration conf = pulsar.getConfiguration();
        CompletableFuture<Optional<Policies>> ofNamespace = pulsar.getPulsarResources().getNamespaceResources()
                .getPoliciesAsync(topic.getNamespaceObject());
        CompletableFuture<Optional<ScalableTopicMetadata>> ofTopic = records.resources()
                .getScalableTopicMetadataAsync(topic);
        return ofNamespace.thenCombine(ofTopic, (n, t) -> {
            try {
                return AutoScaleConfig.resolve(conf, n.map(p -> p.scalableTopicAutoScalePolicy).orElse(null),
                        t.map(ScalableTopicMetadata::getAutoScalePolicy).orElse(null));
            } catch (IllegalArgumentException e) { // the broker takes it for switched off, and says so
                return AutoScaleConfig.fromBrokerConfig(conf).toBuilder().enabled(false).build();
            }
        });
    }

    private CompletableFuture<Map<Long, SegmentLoadSample>> loads(SegmentLayout layout) {
        Map<Long, SegmentLoadSample> samples = new ConcurrentHashMap<>();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (long id : layout.getActiveSegments().keySet()) {
            all.add(records.resources().getSegmentLoadAsync(topic, id).thenAccept(r -> r.ifPresent(v ->
                    samples.put(id, new SegmentLoadSample(v.getValue(), v.getStat().getModificationTimestamp())))));
        }
        return FutureUtil.waitForAll(all).thenApply(x -> samples);
    }

    static List<Integer> cold(SegmentLayout layout, Map<Long, SegmentLoadSample> loads, AutoScaleConfig config,
                                      long lastMerge) {
        AutoScaleConfig mergesOnly = config.toBuilder().minSegments(1).maxSegments(1).build();
        List<SegmentInfo> active = layout.getActiveSegments().values().stream().filter(s -> !s.isLegacy())
                .sorted(Comparator.comparingInt(s -> s.hashRange().start())).toList();
        List<Integer> cold = new ArrayList<>();
        for (int i = 1; i < active.size() && cold.size() < active.size() - config.minSegments(); i++) {
            if (AutoScalePolicyEvaluator.decide(pair(layout, active.get(i - 1), active.get(i)), new HashMap<>(loads),
                    NO_CONSUMERS, mergesOnly, System.currentTimeMillis(), Long.MIN_VALUE, lastMerge)
                    instanceof AutoScaleDecision.Merge) {
                cold.add(active.get(i).hashRange().start());
            }
        }
        return cold;
    }

    /** The layout as if these two were its only active segments. */
    private static SegmentLayout pair(SegmentLayout layout, SegmentInfo a, SegmentInfo b) {
        Map<Long, SegmentInfo> some = new LinkedHashMap<>(layout.getAllSegments());
        some.values().removeIf(s -> s.isActive() && s.segmentId() != a.segmentId() && s.segmentId() != b.segmentId());
        return new SegmentLayout(layout.getEpoch(), layout.getNextSegmentId(), some);
    }
}
