// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.control.LayoutMutation;
import georep.plugin.control.TopicRecords;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.client.admin.ScalableTopics;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * One change of a topic's layout, in the order of the broker's own split:
 *
 * <pre>
 *   children with every subscription's cursor (the pins are among them) -> record unchanged? -> parents terminated
 *   -> compare-and-set on the record
 * </pre>
 *
 * Repeating one that failed in the middle is safe: a child that is there already, and a parent that is terminated
 * already, are left as they are. So is a child whose change is refused after all, because the record has changed or
 * another broker leads: it is empty, in no layout, and nobody finds it. Its id is the next one for whoever leads now,
 * and a repeat, there too, makes the same name and needs it; deleting it could not be told from deleting that one.
 */
final class LayoutChange {
    private static final int AT_ONCE = 8;

    private final PulsarService pulsar;
    private final TopicRecords records;
    private final TopicName topic;
    private final LayoutMutation mutation;

    LayoutChange(PulsarService pulsar, TopicRecords records, TopicName topic, LayoutMutation mutation) {
        this.pulsar = pulsar;
        this.records = records;
        this.topic = topic;
        this.mutation = mutation;
    }

    /** The record that is stored then. Fails where it is not the one that the mutation was made for. */
    CompletableFuture<ScalableTopicMetadata> run() {
        return records.fresh(topic).thenCompose(m -> {
            mutation.check(m);
            return records.resources().listSubscriptionsAsync(topic)
                    .thenCompose(subscriptions -> each(mutation.children(), s ->
                            admin().createSegmentAsync(name(s), subscriptions)));
        }).thenCompose(x -> records.fresh(topic)).thenCompose(m -> { // nobody's leader seals nothing
            mutation.check(m);
            return each(mutation.parents(m), s -> admin().terminateSegmentAsync(name(s)));
        }).thenCompose(x -> {
            AtomicReference<ScalableTopicMetadata> stored = new AtomicReference<>();
            return records.resources().updateScalableTopicAsync(topic, m -> {
                stored.set(mutation.applyTo(m));
                return stored.get();
            }).thenApply(y -> stored.get());
        });
    }

    /** A few at a time: a fold may make many at once. */
    private static CompletableFuture<Void> each(List<SegmentInfo> segments,
                                                Function<SegmentInfo, CompletableFuture<Void>> call) {
        CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
        for (int i = 0; i < segments.size(); i += AT_ONCE) {
            List<SegmentInfo> some = segments.subList(i, Math.min(segments.size(), i + AT_ONCE));
            all = all.thenCompose(x -> FutureUtil.waitForAll(some.stream().map(call).toList()));
        }
        return all;
    }

    private String name(SegmentInfo s) {
        return SegmentTopicName.fromParent(topic, s.hashRange(), s.segmentId()).toString();
    }

    private ScalableTopics admin() {
        try {
            return pulsar.getAdminClient().scalableTopics();
        } catch (PulsarServerException e) {
            throw new IllegalStateException(e);
        }
    }
}
