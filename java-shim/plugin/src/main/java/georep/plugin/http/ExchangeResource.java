// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
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
import jakarta.ws.rs.container.CompletionCallback;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Layouts from cluster to cluster; for other clusters' brokers, super-users only.
 *
 * <pre>
 *   POST exchange     georep.v1.ExchangeRequest -> ExchangeResponse
 *
 *   super-user? -> not too often? (429) -> body within its cap? (413) -> a request that keeps the rules? (400)
 *     -> the leaders of its topics, each state -> an answer of its own
 * </pre>
 *
 * A step that says no ends it: nothing of what comes later is done, so no body of a stranger is read and no topic of a
 * liar looked up. Each state is answered by the leader of its topic's controller, see {@link ExchangeSplit}. What
 * breaks a rule changes nothing, and the log says who sent it.
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class ExchangeResource extends PluginResource {
    /** Answers to states that no honest cluster sends. */
    private static final Set<String> LIES = Set.of("CONVERGE_CODE_BAD_STATE", "CONVERGE_CODE_NOT_MEMBER");
    private static final int TOO_LARGE = 413;

    @POST
    @Path("/exchange")
    public void exchange(@Suspended AsyncResponse rsp, InputStream body) {
        validateSuperUserAccess(); // on the web server's thread, which reads the body as well
        ExchangeGate.Pass pass = ExchangeGate.of(usable()).enter(RefusalLog.who(httpRequest),
                httpRequest.getContentLengthLong());
        rsp.register((CompletionCallback) e -> pass.close());
        String text;
        try {
            text = new String(body.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new RestException(Response.Status.BAD_REQUEST, "body: " + e.getMessage());
        }
        run(rsp, p -> answer(p, text).exceptionally(e -> {
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            throw FutureUtil.wrapToCompletionException(cause instanceof StatusException s ? refusal(s) : cause);
        }));
    }

    private CompletableFuture<String> answer(GeorepPlugin p, String text) {
        byte[] request;
        try {
            request = Json.toProto("ExchangeRequest", text);
            PeerExchange.of(p).offer(request);
        } catch (StatusException e) {
            return CompletableFuture.failedFuture(e);
        }
        return new ExchangeSplit(p, internal(), this::leads).answer(request).thenApply(response -> {
            logLies(p, request, response);
            return response;
        });
    }

    private void logLies(GeorepPlugin p, byte[] request, String response) {
        if (LIES.stream().noneMatch(response::contains)) {
            return; // nearly always: nothing to read
        }
        String cluster = parse(Json.fromProto("ExchangeRequest", request)).path("cluster").asText();
        for (JsonNode a : parse(response).path("answers")) {
            if (LIES.contains(a.path("code").asText())) {
                p.counters().refused.increment();
                RefusalLog.of(p).refused(httpRequest, "as " + cluster + ", state of " + a.path("topic").asText() + ": "
                        + a.path("code").asText() + " " + a.path("text").asText());
            }
        }
    }

    private static WebApplicationException refusal(StatusException e) {
        return switch (e.code()) {
            case georep.nativelib.Status.FORMAT, georep.nativelib.Status.ARG ->
                    new RestException(Response.Status.BAD_REQUEST, e.getMessage());
            case georep.nativelib.Status.LIMIT -> new RestException(TOO_LARGE, e.getMessage());
            case georep.nativelib.Status.STATE -> ExchangeGate.tooMany(e.getMessage(), 1);
            default -> new RestException(Response.Status.INTERNAL_SERVER_ERROR, e.getMessage());
        };
    }

    /** Completes where this broker leads the topic and has looked at its record; a redirect where another does. */
    private CompletableFuture<Void> leads(GeorepPlugin p, TopicName topic) {
        if (!p.config().convergence()) {
            return CompletableFuture.completedFuture(null); // and no topic takes part
        }
        return leader(p, topic).thenCompose(c -> c.convergence().on() ? CompletableFuture.completedFuture(null)
                : c.look().thenApply(r -> null));
    }
}
