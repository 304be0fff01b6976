// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.nativelib.Json;
import georep.nativelib.Peer;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.PeerClient;
import georep.plugin.source.RemoteClients;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Keeps the watermark tables of a topic's remotes from growing for ever: looks at what a remote holds of this cluster,
 * and has it forget the streams whose segment or topic instance is gone here. Run now and then by the leader of the
 * source topic, which alone knows what is gone and always knows the way to its remotes. A remote that does not answer
 * forgets nothing.
 *
 * <pre>
 *   GET status -> what the remote holds -> own record, read after that -> core: what is gone -> POST segment/…/forget
 * </pre>
 */
public final class GoneStreams {
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    private final GeorepPlugin plugin;
    private final PulsarService pulsar;
    private final TopicName topic;

    public GoneStreams(GeorepPlugin plugin, TopicName topic) {
        this.plugin = plugin;
        this.pulsar = plugin.pulsar();
        this.topic = topic;
    }

    /** Completes when the remote has forgotten; fails where one call did. */
    public CompletableFuture<Void> forgetAt(String remote) {
        return pulsar.getPulsarResources().getClusterResources().getClusterAsync(remote)
                .thenCompose(data -> forgetAt(client(remote, data)));
    }

    private PeerClient client(String remote, Optional<ClusterData> data) {
        return PeerClient.of(RemoteClients.of(plugin).get(remote, data).admin());
    }

    private CompletableFuture<Void> forgetAt(PeerClient remote) {
        return remote.status(topic).thenApply(GoneStreams::parse).thenCompose(held ->
                plugin.records().fresh(topic).thenCompose(m -> {
                    byte[] state = state(m);
                    List<CompletableFuture<String>> all = new ArrayList<>();
                    for (JsonNode segment : held.path("segments")) {
                        forget(remote, state, segment).ifPresent(all::add);
                    }
                    return FutureUtil.waitForAll(all);
                }));
    }

    private byte[] state(ScalableTopicMetadata m) {
        try {
            return Peer.buildState(ObjectMapperFactory.getMapper().writer().writeValueAsString(m),
                    pulsar.getConfiguration().getClusterName(), topic.toString(), 0, 0, 0, 0, GeorepPlugin.VERSION);
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    private Optional<CompletableFuture<String>> forget(PeerClient remote, byte[] state, JsonNode segment) {
        JsonNode received = segment.path("received");
        String name = segment.path("segment").asText();
        if (!received.isObject() || name.isEmpty()) {
            return Optional.empty(); // receives nothing, or did not answer
        }
        byte[] gone = Peer.gone(state, Json.toProto("DedupStatus", received.toString()));
        return gone.length == 0 ? Optional.empty() : Optional.of(remote.post(topic, "segment/"
                + name.substring(name.lastIndexOf('/') + 1) + "/forget", Json.fromProto("OriginKeys", gone)));
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new IllegalArgumentException("status: " + e.getMessage(), e);
        }
    }
}
