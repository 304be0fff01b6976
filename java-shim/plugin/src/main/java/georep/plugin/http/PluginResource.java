// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Json;
import georep.nativelib.StatusException;
import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.PeerClient;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.admin.AdminResource;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.service.BrokerServiceException.TopicNotFoundException;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicDomain;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the plugin's calls have in common: super-users only, a plugin that works, the right broker, error answers. */
abstract class PluginResource extends AdminResource {
    private static final Logger LOG = LoggerFactory.getLogger(PluginResource.class);
    /** Below the callers' limit: they hear it, and the connection that they keep for this broker is free again. */
    private static final long ANSWER_SECONDS = 25;

    /** The segment's topic, loaded here; redirects to its owner. */
    CompletableFuture<ReplicatedSegmentTopic> onOwner(String tenant, String namespace, String topic,
                                                              String descriptor, boolean authoritative) {
        validateNamespaceName(tenant, namespace);
        TopicName segment = TopicName.get(TopicDomain.segment.value() + "://" + tenant + "/" + namespace + "/" + topic
                + "/" + descriptor);
        return validateTopicOwnershipAsync(segment, authoritative)
                .thenCompose(x -> pulsar().getBrokerService().getTopicIfExists(segment.toString()))
                .thenApply(t -> {
                    if (t.isPresent() && t.get() instanceof ReplicatedSegmentTopic r) {
                        return r;
                    }
                    throw new RestException(Response.Status.NOT_FOUND, "no segment " + segment);
                });
    }

    TopicName topic(String tenant, String namespace, String topic) {
        validateNamespaceName(tenant, namespace);
        return TopicName.get(TopicDomain.topic.value(), namespaceName, topic);
    }

    /** The bytes of a message given as JSON; what is none is a 400 that names the field. */
    static byte[] message(String name, String body) {
        try {
            return Json.toProto(name, body == null ? "" : body);
        } catch (StatusException e) {
            throw new RestException(Response.Status.BAD_REQUEST, "body: " + e.getMessage());
        }
    }

    static String json(ScalableTopicMetadata m) {
        try {
            return ObjectMapperFactory.getMapper().writer().writeValueAsString(m);
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The topic's controller, where this broker leads it; else a redirect to the leader. */
    CompletableFuture<ReplicatedController> leader(GeorepPlugin p, TopicName tn) {
        LeaderRedirect redirect = new LeaderRedirect(pulsar(), uri.getRequestUri(), isRequestHttps());
        return p.records().fresh(tn) // a missing topic must not have a controller made for it
                .thenCompose(m -> redirect.unlessLeader(tn))
                .thenCompose(x -> pulsar().getBrokerService().getScalableTopicService().getOrCreateController(tn))
                .thenCompose(c -> redirect.unlessLeader(tn).thenApply(x -> { // elected elsewhere meanwhile
                    if (!c.isLeader()) {
                        throw new RestException(Response.Status.SERVICE_UNAVAILABLE, "no leader for " + tn + " yet");
                    }
                    return (ReplicatedController) c;
                }));
    }

    void run(AsyncResponse rsp, Function<GeorepPlugin, CompletableFuture<String>> call) {
        String what = httpRequest.getMethod() + " " + uri.getPath();
        rsp.setTimeout(ANSWER_SECONDS, TimeUnit.SECONDS);
        rsp.setTimeoutHandler(r -> {
            LOG.warn("georep: {} is not answered within {} s", what, ANSWER_SECONDS);
            r.resume(new RestException(Response.Status.SERVICE_UNAVAILABLE, "not answered within " + ANSWER_SECONDS
                    + " s: what it needs is being moved, or does not answer"));
        });
        validateSuperUserAccessAsync().thenCompose(x -> call.apply(usable())).thenAccept(rsp::resume)
                .exceptionally(e -> {
                    Throwable cause = FutureUtil.unwrapCompletionException(e);
                    resumeAsyncResponseExceptionally(rsp, cause instanceof TopicNotFoundException
                            ? new RestException(Response.Status.NOT_FOUND, cause.getMessage()) : cause);
                    return null;
                });
    }

    /** The plugin; 503 where it does not work. */
    GeorepPlugin usable() {
        GeorepPlugin p = GeorepPlugin.of(pulsar());
        if (p == null || !p.usable()) {
            throw new RestException(Response.Status.SERVICE_UNAVAILABLE, "georep does not work with this broker: "
                    + (p == null ? "it is closing" : String.join("; ", p.problems())));
        }
        return p;
    }

    /** Who called, for the audit log. */
    void audit(String call, TopicName tn, String arguments) {
        audit(call, tn.toString(), arguments);
    }

    void audit(String call, String about, String arguments) {
        Audit.log(RefusalLog.who(httpRequest), call, about, arguments);
    }

    /** To the brokers of this cluster. */
    PeerClient internal() {
        try {
            return PeerClient.of(pulsar().getAdminClient());
        } catch (PulsarServerException e) {
            throw new RestException(e);
        }
    }

    static JsonNode parse(String body) {
        try {
            JsonNode n = ObjectMapperFactory.getMapper().reader().readTree(body == null ? "" : body);
            if (n != null && n.isObject()) {
                return n;
            }
        } catch (IOException e) {
            // the same answer
        }
        throw new RestException(Response.Status.BAD_REQUEST, "body: not a JSON object");
    }

    static String text(JsonNode n, String field) {
        JsonNode v = n.get(field);
        if (v == null || !v.isTextual() || v.textValue().isEmpty()) {
            throw new RestException(Response.Status.BAD_REQUEST, field + ": missing");
        }
        return v.textValue();
    }

    static long number(JsonNode n, String field) {
        JsonNode v = n.get(field);
        if (v == null) {
            throw new RestException(Response.Status.BAD_REQUEST, field + ": missing");
        }
        try {
            return Long.parseLong(v.asText());
        } catch (NumberFormatException e) {
            throw new RestException(Response.Status.BAD_REQUEST, field + ": not a number");
        }
    }

    /** A position "ledger:entry". */
    static Position position(String text, String field) {
        String[] p = text.split(":", -1);
        try {
            if (p.length == 2) {
                long ledger = Long.parseLong(p[0]);
                long entry = Long.parseLong(p[1]);
                if (ledger >= 0 && entry >= 0) {
                    return PositionFactory.create(ledger, entry);
                }
            }
        } catch (NumberFormatException e) {
            // answered below
        }
        throw new RestException(Response.Status.BAD_REQUEST, field + ": not ledger:entry");
    }
}
