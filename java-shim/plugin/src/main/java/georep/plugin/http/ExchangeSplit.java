// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Exchange;
import georep.nativelib.Json;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.PeerExchange;
import georep.plugin.source.PeerClient;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.apache.pulsar.broker.service.BrokerServiceException.TopicNotFoundException;
import org.apache.pulsar.common.naming.TopicDomain;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes a call of another cluster to the brokers that lead its topics. One whose topics are all led by another broker
 * is redirected there (307); of others the states of each leader are passed on together, as a call to this broker,
 * which redirects it: nothing goes to a host that is not the registered leader. One use; nothing blocks.
 */
final class ExchangeSplit {
    private static final Logger LOG = LoggerFactory.getLogger(ExchangeSplit.class);
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();
    private static final int REDIRECT = 307;
    /** A caller waits longer than that, and a topic's machine less. */
    private static final long OWN_BROKER_MILLIS = 10_000;
    /** Led here, or by nobody. */
    private static final String HERE = "";

    private final GeorepPlugin plugin;
    private final PeerClient internal;
    private final BiFunction<GeorepPlugin, TopicName, CompletableFuture<Void>> leads;

    /** {@code leads}: completes where this broker leads a topic, fails with a redirect where another does. */
    ExchangeSplit(GeorepPlugin plugin, PeerClient internal,
                  BiFunction<GeorepPlugin, TopicName, CompletableFuture<Void>> leads) {
        this.plugin = plugin;
        this.internal = internal;
        this.leads = leads;
    }

    /**
     * Where a state goes.
     *
     * @param broker   authority of its leader, or HERE
     * @param redirect the answer that sends a caller there, where that is not here
     * @param answer   the state's ExchangeAnswer, where nobody has to be asked
     */
    private record Way(String broker, WebApplicationException redirect, JsonNode answer) {
    }

    /** {@code request}: the bytes of an ExchangeRequest that the core has looked at. */
    CompletableFuture<String> answer(byte[] request) {
        List<CompletableFuture<Way>> ways = Exchange.topics(request).stream().map(this::way).toList();
        return FutureUtil.waitForAll(ways).thenCompose(x -> along(request, ways.stream().map(CompletableFuture::join)
                .toList()));
    }

    private CompletableFuture<Way> way(String name) {
        Way here = new Way(HERE, null, null);
        if (PeerExchange.of(plugin).leads(name)) {
            return CompletableFuture.completedFuture(here);
        }
        TopicName topic;
        try {
            topic = TopicName.get(name);
        } catch (RuntimeException e) {
            return CompletableFuture.completedFuture(here); // refused by the core, with the rest
        }
        if (topic.getDomain() != TopicDomain.topic) {
            return CompletableFuture.completedFuture(here);
        }
        return leads.apply(plugin, topic).handle((x, e) -> {
            Throwable cause = e == null ? null : FutureUtil.unwrapCompletionException(e);
            if (cause == null || cause instanceof TopicNotFoundException) {
                return here; // where nobody has it, it is "no topic"
            }
            if (cause instanceof WebApplicationException w && w.getResponse().getStatus() == REDIRECT) {
                URI to = w.getResponse().getLocation();
                return new Way(to.getAuthority(), w, null);
            }
            return new Way(HERE, null, busy(name, cause.getMessage()));
        });
    }

    private CompletableFuture<String> along(byte[] request, List<Way> ways) {
        Map<String, List<Integer>> groups = new TreeMap<>();
        for (int i = 0; i < ways.size(); i++) {
            if (ways.get(i).answer == null) {
                groups.computeIfAbsent(ways.get(i).broker, k -> new ArrayList<>()).add(i);
            }
        }
        boolean together = groups.values().stream().anyMatch(g -> g.size() == ways.size());
        if (together && !groups.containsKey(HERE)) {
            LOG.debug("a call with {} states is redirected to {}", ways.size(), ways.get(0).broker);
            return CompletableFuture.failedFuture(ways.get(0).redirect);
        }
        if (together || ways.isEmpty()) {
            return PeerExchange.of(plugin).received(request);
        }
        return divided(tree(Json.fromProto("ExchangeRequest", request)), ways, groups);
    }

    /** {@code groups}: indices of states by the broker that leads their topics. */
    private CompletableFuture<String> divided(JsonNode request, List<Way> ways, Map<String, List<Integer>> groups) {
        LOG.debug("a call of {} with {} states is divided: {}", request.path("cluster").asText(), ways.size(), groups);
        JsonNode[] answers = new JsonNode[ways.size()];
        List<CompletableFuture<Void>> all = new ArrayList<>();
        groups.forEach((broker, which) -> all.add(ask(broker, part(request, which)).handle((r, e) -> {
            if (e != null && broker.equals(HERE)) {
                throw FutureUtil.wrapToCompletionException(e);
            }
            for (int i = 0; i < which.size(); i++) {
                JsonNode state = request.path("states").path(which.get(i));
                answers[which.get(i)] = e == null ? r.path("answers").path(i)
                        : busy(state.path("topic").asText(), broker + " leads it, and does not answer");
            }
            return null;
        })));
        return FutureUtil.waitForAll(all).thenApply(x -> response(ways, answers));
    }

    /** Its push is repeated; the others of the call are answered. */
    private static JsonNode busy(String topic, String why) {
        return PeerExchange.answer(topic, "CONVERGE_CODE_BUSY", why);
    }

    private CompletableFuture<JsonNode> ask(String broker, JsonNode request) {
        CompletableFuture<String> f = broker.equals(HERE)
                ? PeerExchange.of(plugin).received(Json.toProto("ExchangeRequest", request.toString()))
                : internal.exchange(request.toString()).orTimeout(OWN_BROKER_MILLIS, TimeUnit.MILLISECONDS);
        return f.thenApply(text -> {
            JsonNode r = tree(text);
            if (r.path("answers").size() == request.path("states").size()) {
                return r;
            }
            throw new WebApplicationException("a broker of this cluster does not answer all it was asked",
                    Response.Status.BAD_GATEWAY);
        });
    }

    private static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new CompletionException(e);
        }
    }

    private static JsonNode part(JsonNode request, List<Integer> which) {
        ObjectNode n = JSON.createObjectNode();
        request.fields().forEachRemaining(f -> {
            if (!f.getKey().equals("states")) {
                n.set(f.getKey(), f.getValue());
            }
        });
        ArrayNode some = n.putArray("states");
        which.forEach(i -> some.add(request.path("states").path(i)));
        return n;
    }

    private String response(List<Way> ways, JsonNode[] answers) {
        ObjectNode n = JSON.createObjectNode().put("protocolVersion", 1)
                .put("cluster", plugin.pulsar().getConfiguration().getClusterName());
        ArrayNode all = n.putArray("answers");
        for (int i = 0; i < answers.length; i++) {
            all.add(answers[i] == null ? ways.get(i).answer : answers[i]);
        }
        return n.toString();
    }
}
