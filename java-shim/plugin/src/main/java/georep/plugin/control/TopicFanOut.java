// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import georep.plugin.GeorepPlugin;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the beginning and the end of a topic here mean elsewhere: it is created at its remotes, and deleted at those
 * that replicate it back. One thing after the other at each remote, so that no creation under way outlives the
 * deletion. Nobody waits for any of it. Thread-safe.
 */
public final class TopicFanOut {
    private static final Logger LOG = LoggerFactory.getLogger(TopicFanOut.class);

    private final RemoteCreation creation;
    private final RemoteDeletion deletion;
    private final TopicName topic;
    // by remote; true: made there by this
    private final Map<String, CompletableFuture<Boolean>> created = new ConcurrentHashMap<>();

    public TopicFanOut(GeorepPlugin plugin, TopicName topic) {
        this.creation = new RemoteCreation(plugin, topic);
        this.deletion = new RemoteDeletion(plugin, topic);
        this.topic = topic;
    }

    /** Where the record says that the topic is still to be created; what fails is tried with the next look. */
    public void create(ScalableTopicMetadata own, Function<String, CompletableFuture<Void>> done) {
        for (String remote : TopicRecord.of(own).toCreate()) {
            created.compute(remote, (r, before) -> before != null && !before.isDone() ? before
                    : create(remote, own, done));
        }
    }

    private CompletableFuture<Boolean> create(String remote, ScalableTopicMetadata own,
                                              Function<String, CompletableFuture<Void>> done) {
        CompletableFuture<Boolean> f = creation.create(remote, own);
        f.thenCompose(made -> done.apply(remote)).exceptionally(e -> {
            LOG.info("[{}] cannot be created at {} yet: {}", topic, remote, e.toString());
            return null;
        });
        return f;
    }

    /** The topic is deleted here. What is known of its peers, a ConvergeStatus, says which life of it goes there. */
    public void delete(Set<String> remotes, JsonNode status) {
        Map<String, JsonNode> peers = new TreeMap<>();
        status.path("peers").forEach(p -> peers.put(p.path("cluster").asText(), p));
        for (String remote : remotes) {
            created.getOrDefault(remote, CompletableFuture.completedFuture(false)).exceptionally(e -> false)
                    .thenCompose(made -> delete(remote, peers.getOrDefault(remote, MissingNode.getInstance()), made))
                    .exceptionally(e -> {
                        LOG.warn("[{}] is deleted here and stays at {}: {}", topic, remote, e.toString());
                        return null;
                    });
        }
    }

    private CompletableFuture<Void> delete(String remote, JsonNode peer, boolean made) {
        String support = peer.path("support").asText();
        if (support.equals("supported")) {
            return deletion.delete(remote, peer.path("instance").asText());
        }
        if (made && !support.equals("unsupported")) { // made there a moment ago, and not heard yet
            return deletion.delete(remote, null);
        }
        LOG.info("[{}] is deleted here; {} is not known to replicate it to here, and keeps it", topic, remote);
        return CompletableFuture.completedFuture(null);
    }
}
