// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.plugin.dest.GoneOrigins;
import georep.plugin.source.PeerClient;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Keeps the watermark tables of a topic's segments from growing for ever: asks an origin cluster which segments it
 * still has and lets the owners of the local segments forget the others. Run now and then by the topic's leader; an
 * origin that does not answer changes nothing.
 */
public final class OriginCheck {
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    private final PulsarService pulsar;
    private final TopicName topic;

    public OriginCheck(PulsarService pulsar, TopicName topic) {
        this.pulsar = pulsar;
        this.topic = topic;
    }

    /** Segments by descriptor. */
    public CompletableFuture<Void> run(String origin, List<String> segments) {
        return pulsar.getPulsarResources().getClusterResources().getClusterAsync(origin)
                .thenCompose(data -> state(origin, data)).thenCompose(state -> {
                    GoneOrigins says = GoneOrigins.ofState(state);
                    if (!says.cluster().equals(origin)) {
                        throw new IllegalArgumentException("the cluster at " + origin + "'s address calls itself "
                                + says.cluster());
                    }
                    return tell(state, segments);
                });
    }

    private CompletableFuture<JsonNode> state(String origin, Optional<ClusterData> data) {
        PulsarAdmin admin = pulsar.getBrokerService().getClusterPulsarAdmin(origin, data);
        if (admin == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("no admin client for " + origin));
        }
        return PeerClient.of(admin).get(topic, "state").thenApply(OriginCheck::parse);
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new IllegalArgumentException("state: " + e.getMessage(), e);
        }
    }

    private CompletableFuture<Void> tell(JsonNode state, List<String> segments) {
        PeerClient brokers;
        try {
            brokers = PeerClient.of(pulsar.getAdminClient());
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
        List<CompletableFuture<String>> all = new ArrayList<>();
        segments.forEach(s -> all.add(brokers.post(topic, "segment/" + s + "/forget-origins", state.toString())));
        return FutureUtil.waitForAll(all);
    }
}
