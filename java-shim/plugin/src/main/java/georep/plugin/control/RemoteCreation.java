// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException.ConflictException;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.common.naming.TopicDomain;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Creates a topic that is replicated to a cluster there as well: with the same initial layout while its own is that;
 * else with one segment, and the first exchange of layouts does the rest. One that is there already is left as it is,
 * and no plain topic of the name is covered up: that waits to be migrated.
 */
public final class RemoteCreation {
    private final GeorepPlugin plugin;
    private final TopicName topic;

    public RemoteCreation(GeorepPlugin plugin, TopicName topic) {
        this.plugin = plugin;
        this.topic = topic;
    }

    /** Completes when the topic is there: with true where this has made it, false where it was there. */
    public CompletableFuture<Boolean> create(String remote, ScalableTopicMetadata own) {
        return PeerExchange.of(plugin).admin(remote).thenCompose(admin -> plainThere(admin).thenCompose(plain -> {
            if (plain) {
                throw new IllegalStateException("a plain topic of that name is there");
            }
            return create(admin, remote, own);
        }));
    }

    private CompletableFuture<Boolean> plainThere(PulsarAdmin admin) {
        String plain = TopicName.get(TopicDomain.persistent.value(), topic.getNamespaceObject(), topic.getLocalName())
                .toString();
        return admin.topics().getPartitionedTopicMetadataAsync(plain).thenCompose(m -> m.partitions > 0
                ? CompletableFuture.completedFuture(true)
                : admin.topics().getInternalInfoAsync(plain).thenApply(info -> true))
                .exceptionally(e -> {
                    if (FutureUtil.unwrapCompletionException(e) instanceof NotFoundException) {
                        return false;
                    }
                    throw FutureUtil.wrapToCompletionException(e);
                });
    }

    private CompletableFuture<Boolean> create(PulsarAdmin admin, String remote, ScalableTopicMetadata own) {
        int segments = own.getEpoch() == 0 ? (int) own.getSegments().values().stream().filter(SegmentInfo::isActive)
                .count() : 1;
        Map<String, String> properties = new TreeMap<>(own.getProperties());
        properties.keySet().removeIf(k -> k.startsWith(TopicRecord.PREFIX));
        return admin.scalableTopics().createScalableTopicAsync(topic.toString(), segments, properties)
                .thenApply(x -> {
                    Audit.log("controller", "create-topic", topic.toString(), "remote=" + remote + " segments="
                            + segments);
                    return true;
                })
                .exceptionally(e -> {
                    Throwable cause = FutureUtil.unwrapCompletionException(e);
                    if (cause instanceof ConflictException) {
                        return false;
                    }
                    throw FutureUtil.wrapToCompletionException(cause);
                });
    }
}
