// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.PeerClient;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Tells other clusters the layouts of topics, through the admin clients that the broker keeps for them. One per broker;
 * thread-safe, nothing blocks.
 */
public final class PeerExchange {
    /** Version of ExchangeRequest and ExchangeResponse. */
    public static final int PROTOCOL = 1;

    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    /** Calls to one cluster since the plugin was started. */
    public record Calls(LongAdder answered, LongAdder failed) {
    }

    private final PulsarService pulsar;
    private final Map<String, Calls> calls = new ConcurrentSkipListMap<>();

    private PeerExchange(GeorepPlugin plugin) {
        this.pulsar = plugin.pulsar();
    }

    public static PeerExchange of(GeorepPlugin plugin) {
        return plugin.service(PeerExchange.class, PeerExchange::new);
    }

    /** A TopicState to a cluster; its ExchangeAnswer. Fails with what the admin client says. */
    public CompletableFuture<JsonNode> push(String cluster, JsonNode state) {
        ObjectNode request = JSON.createObjectNode().put("protocolVersion", PROTOCOL)
                .put("cluster", pulsar.getConfiguration().getClusterName());
        request.putArray("states").add(state);
        return admin(cluster).thenCompose(admin -> PeerClient.of(admin).exchange(request.toString()))
                .thenApply(PeerExchange::answer).whenComplete((a, e) -> {
                    Calls c = calls.computeIfAbsent(cluster, k -> new Calls(new LongAdder(), new LongAdder()));
                    (e == null ? c.answered : c.failed).increment();
                });
    }

    /** By cluster. */
    public Map<String, Calls> calls() {
        return calls;
    }

    /** The client that the broker keeps for a cluster. */
    CompletableFuture<PulsarAdmin> admin(String cluster) {
        return pulsar.getPulsarResources().getClusterResources().getClusterAsync(cluster).thenApply(data -> {
            PulsarAdmin admin = data.isEmpty() ? null
                    : pulsar.getBrokerService().getClusterPulsarAdmin(cluster, data);
            if (admin == null) {
                throw new IllegalStateException("cluster " + cluster + " is not registered here");
            }
            return admin;
        });
    }

    /** The answer to a call with one state. */
    public static JsonNode answer(String response) {
        try {
            JsonNode answers = JSON.readTree(response).path("answers");
            if (answers.size() == 1) {
                return answers.get(0);
            }
            throw new CompletionException(new IOException("answers: " + answers.size() + " for one state"));
        } catch (IOException e) {
            throw new CompletionException(e);
        }
    }
}
