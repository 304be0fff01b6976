// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes a topic at a cluster that it was replicated to, after it was deleted here: its name would live on there, and
 * come back. Only the life of that name that this cluster knows: clusters that hear of a deletion pass it on, and what
 * one of them has made anew by then must not go. Not where the namespace itself is being deleted, or does not replicate
 * there any more: that says nothing of the other cluster's data.
 */
public final class RemoteDeletion {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteDeletion.class);

    private final GeorepPlugin plugin;
    private final TopicName topic;

    public RemoteDeletion(GeorepPlugin plugin, TopicName topic) {
        this.plugin = plugin;
        this.topic = topic;
    }

    /**
     * Completes when the topic is not there, or stays there for good reason. Tried once. The instance is the one that
     * is to go; null: whichever is there, which this cluster has just made.
     */
    public CompletableFuture<Void> delete(String remote, String instance) {
        return plugin.records().policyRemotes(topic.getNamespaceObject()).thenCompose(remotes -> {
            if (!remotes.contains(remote) || !plugin.pulsar().getConfiguration()
                    .isCreateTopicToRemoteClusterForReplication()) {
                return CompletableFuture.completedFuture(null);
            }
            return PeerExchange.of(plugin).admin(remote).thenCompose(admin -> lives(admin, instance)
                    .thenCombine(plugin.records().exists(topic), (there, again) -> there && !again)
                    .thenCompose(go -> go ? delete(admin, remote) : stays(remote)));
        });
    }

    private CompletableFuture<Boolean> lives(PulsarAdmin admin, String instance) {
        return instance == null ? CompletableFuture.completedFuture(true)
                : admin.scalableTopics().getMetadataAsync(topic.toString())
                .thenApply(m -> instance.equals(m.getProperties().get(TopicRecord.INSTANCE)))
                .exceptionally(e -> {
                    absent(e);
                    return false;
                });
    }

    private CompletableFuture<Void> stays(String remote) {
        LOG.info("[{}] is deleted here; at {} that life of it is over, too, or it has begun another one here", topic,
                remote);
        return CompletableFuture.completedFuture(null);
    }

    private CompletableFuture<Void> delete(PulsarAdmin admin, String remote) {
        return admin.scalableTopics().deleteScalableTopicAsync(topic.toString(), true)
                .thenRun(() -> Audit.log("controller", "delete-topic", topic.toString(), "remote=" + remote))
                .exceptionally(e -> {
                    absent(e);
                    return null;
                });
    }

    private static void absent(Throwable e) {
        Throwable cause = FutureUtil.unwrapCompletionException(e);
        if (!(cause instanceof NotFoundException)) {
            throw FutureUtil.wrapToCompletionException(cause);
        }
    }
}
