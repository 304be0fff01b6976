// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Json;
import georep.nativelib.StatusException;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.PeerExchange;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.service.BrokerServiceException.TopicNotFoundException;
import org.apache.pulsar.broker.service.scalable.TopicConvergence;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicDomain;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Layouts from cluster to cluster; for other clusters' brokers, super-users only.
 *
 * <pre>
 *   POST exchange     georep.v1.ExchangeRequest -> ExchangeResponse
 * </pre>
 *
 * Each state is answered by the leader of its topic's controller: a call with one state is redirected there (307), of
 * one with many the states of other leaders are passed on. A state that breaks a rule is answered so, and changes
 * nothing.
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class ExchangeResource extends PluginResource {
    private static final Logger LOG = LoggerFactory.getLogger(ExchangeResource.class);
    private static final int MAX_BODY_BYTES = 8 << 20;
    private static final int TOO_LARGE = 413;
    private static final int REDIRECT = 307;

    @POST
    @Path("/exchange")
    public void exchange(@Suspended AsyncResponse rsp, InputStream body) {
        String text;
        try {
            byte[] b = body.readNBytes(MAX_BODY_BYTES + 1);
            if (b.length > MAX_BODY_BYTES) {
                rsp.resume(new RestException(TOO_LARGE, "body: more than " + MAX_BODY_BYTES + " bytes"));
                return;
            }
            text = new String(b, StandardCharsets.UTF_8);
        } catch (IOException e) {
            rsp.resume(new RestException(Response.Status.BAD_REQUEST, "body: " + e.getMessage()));
            return;
        }
        run(rsp, p -> answer(p, request(text)));
    }

    /** The request in the one form that the library writes. */
    private JsonNode request(String text) {
        try {
            JsonNode q = parse(Json.fromProto("ExchangeRequest", message("ExchangeRequest", text)));
            if (q.path("protocolVersion").asInt() != PeerExchange.PROTOCOL) {
                throw new RestException(Response.Status.BAD_REQUEST, "protocolVersion: this broker speaks "
                        + PeerExchange.PROTOCOL);
            }
            return q;
        } catch (RestException e) {
            LOG.warn("exchange from {} refused: {}", caller(), e.getMessage());
            throw e;
        }
    }

    private CompletableFuture<String> answer(GeorepPlugin p, JsonNode request) {
        List<CompletableFuture<JsonNode>> answers = new ArrayList<>();
        JsonNode states = request.path("states");
        for (int i = 0; i < states.size(); i++) {
            answers.add(one(p, states.get(i), i, states.size() == 1, request));
        }
        return FutureUtil.waitForAll(answers).thenApply(x -> {
            ObjectNode n = ObjectMapperFactory.getMapper().getObjectMapper().createObjectNode()
                    .put("protocolVersion", PeerExchange.PROTOCOL)
                    .put("cluster", pulsar().getConfiguration().getClusterName());
            ArrayNode all = n.putArray("answers");
            answers.forEach(a -> all.add(a.join()));
            return n.toString();
        });
    }

    private CompletableFuture<JsonNode> one(GeorepPlugin p, JsonNode state, int index, boolean alone,
                                            JsonNode request) {
        TopicName topic;
        try {
            topic = TopicName.get(state.path("topic").asText());
        } catch (RuntimeException e) {
            topic = null;
        }
        if (topic == null || topic.getDomain() != TopicDomain.topic) {
            LOG.warn("exchange from {} refused: states[{}].topic: {}", caller(), index, state.path("topic"));
            return FutureUtil.failedFuture(new RestException(Response.Status.BAD_REQUEST, "states[" + index
                    + "].topic: not topic://tenant/namespace/name"));
        }
        TopicName tn = topic;
        return leader(p, tn).thenCompose(c -> c.convergence().received(state)).handle((a, e) -> {
            if (e == null) {
                return CompletableFuture.completedFuture(a);
            }
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            if (cause instanceof TopicNotFoundException) {
                return CompletableFuture.completedFuture(TopicConvergence.noTopic(tn, "no such topic"));
            }
            if (cause instanceof StatusException) {
                LOG.warn("[{}] state from {} refused: {}", tn, caller(), cause.getMessage());
                return FutureUtil.<JsonNode>failedFuture(new RestException(Response.Status.BAD_REQUEST, "states["
                        + index + "]: " + cause.getMessage()));
            }
            if (!alone && cause instanceof WebApplicationException w && w.getResponse().getStatus() == REDIRECT) {
                return passOn(state, request);
            }
            return FutureUtil.<JsonNode>failedFuture(cause);
        }).thenCompose(f -> f);
    }

    /** To this broker again, alone: it redirects to the leader. */
    private CompletableFuture<JsonNode> passOn(JsonNode state, JsonNode request) {
        ObjectNode q = request.deepCopy();
        q.putArray("states").add(state);
        return internal().exchange(q.toString()).thenApply(PeerExchange::answer);
    }

    private String caller() {
        return clientAppId() + "@" + httpRequest.getRemoteAddr();
    }
}
