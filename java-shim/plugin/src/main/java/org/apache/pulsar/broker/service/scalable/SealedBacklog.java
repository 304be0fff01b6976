// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.ScalableTopics;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;

/**
 * Asks the owners of the segments that one layout has sealed whether subscriptions have read them to their end. Nothing
 * is published to them any more, so who has said yes is not asked again.
 */
final class SealedBacklog {
    private final PulsarService pulsar;
    private final TopicName topic;
    private final long epoch;
    private final Set<String> done = ConcurrentHashMap.newKeySet();

    /** @param epoch of the layout */
    SealedBacklog(PulsarService pulsar, TopicName topic, long epoch) {
        this.pulsar = pulsar;
        this.topic = topic;
        this.epoch = epoch;
    }

    long epoch() {
        return epoch;
    }

    /** True where none has a backlog; stops at the first that has. Fails where one cannot be asked. */
    CompletableFuture<Boolean> drained(SegmentLayout layout, Collection<String> subscriptions) {
        ScalableTopics admin;
        try {
            admin = pulsar.getAdminClient().scalableTopics();
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
        List<String> sealed = layout.getAllSegments().values().stream().filter(s -> s.isSealed() && !s.isLegacy())
                .map(this::name).toList();
        CompletableFuture<Boolean> all = CompletableFuture.completedFuture(true);
        for (String segment : sealed) {
            for (String subscription : subscriptions) {
                all = all.thenCompose(so -> !so ? CompletableFuture.completedFuture(false)
                        : read(admin, segment, subscription));
            }
        }
        return all;
    }

    private CompletableFuture<Boolean> read(ScalableTopics admin, String segment, String subscription) {
        String both = segment + ' ' + subscription;
        return done.contains(both) ? CompletableFuture.completedFuture(true)
                : admin.getSegmentSubscriptionBacklogAsync(segment, subscription).thenApply(n -> n != null && n <= 0
                        && done.add(both));
    }

    private String name(SegmentInfo s) {
        return SegmentTopicName.fromParent(topic, s.hashRange(), s.segmentId()).toString();
    }
}
