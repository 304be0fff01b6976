// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Deletes a topic at a cluster that it was replicated to, after it was deleted here: its name would live on there, and
 * come back. Not where the namespace itself is being deleted, or does not replicate there any more: that says nothing
 * of the other cluster's data.
 */
public final class RemoteDeletion {
    private final GeorepPlugin plugin;
    private final TopicName topic;

    public RemoteDeletion(GeorepPlugin plugin, TopicName topic) {
        this.plugin = plugin;
        this.topic = topic;
    }

    /** Completes when the topic is not there, or stays there for good reason. Tried once. */
    public CompletableFuture<Void> delete(String remote) {
        return plugin.records().policyRemotes(topic.getNamespaceObject()).thenCompose(remotes -> {
            if (!remotes.contains(remote) || !plugin.pulsar().getConfiguration()
                    .isCreateTopicToRemoteClusterForReplication()) {
                return CompletableFuture.completedFuture(null);
            }
            return PeerExchange.of(plugin).admin(remote)
                    .thenCompose(admin -> admin.scalableTopics().deleteScalableTopicAsync(topic.toString(), true))
                    .thenRun(() -> Audit.log("controller", "delete-topic", topic.toString(), "remote=" + remote))
                    .exceptionally(e -> {
                        Throwable cause = FutureUtil.unwrapCompletionException(e);
                        if (cause instanceof NotFoundException) {
                            return null;
                        }
                        throw FutureUtil.wrapToCompletionException(cause);
                    });
        });
    }
}
