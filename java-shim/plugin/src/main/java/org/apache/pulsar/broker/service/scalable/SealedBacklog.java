// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.ScalableTopics;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;

/** Asks the owners of a topic's sealed segments whether subscriptions have read them to their end. */
final class SealedBacklog {
    private final PulsarService pulsar;
    private final TopicName topic;

    SealedBacklog(PulsarService pulsar, TopicName topic) {
        this.pulsar = pulsar;
        this.topic = topic;
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
                        : admin.getSegmentSubscriptionBacklogAsync(segment, subscription).thenApply(n -> n != null
                                && n <= 0));
            }
        }
        return all;
    }

    private String name(SegmentInfo s) {
        return SegmentTopicName.fromParent(topic, s.hashRange(), s.segmentId()).toString();
    }
}
