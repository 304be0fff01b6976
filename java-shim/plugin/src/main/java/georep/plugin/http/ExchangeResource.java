// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Json;
import georep.nativelib.StatusException;
import georep.plugin.GeorepPlugin;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Layouts from cluster to cluster; for other clusters' brokers, super-users only.
 *
 * <pre>
 *   POST exchange     georep.v1.ExchangeRequest -> ExchangeResponse
 * </pre>
 *
 * Each state is answered by the leader of its topic's controller, see {@link ExchangeSplit}. What breaks a rule changes
 * nothing, and the log says who sent it.
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class ExchangeResource extends PluginResource {
    private static final Logger LOG = LoggerFactory.getLogger(ExchangeResource.class);
    private static final int MAX_BODY_BYTES = 8 << 20;
    private static final int TOO_LARGE = 413;
    private static final int TOO_MANY = 429;

    @POST
    @Path("/exchange")
    public void exchange(@Suspended AsyncResponse rsp, InputStream body) {
        String text;
        try {
            byte[] b = body.readNBytes(MAX_BODY_BYTES + 1);
            if (b.length > MAX_BODY_BYTES) {
                LOG.warn("exchange from {} refused: body of more than {} bytes", caller(), MAX_BODY_BYTES);
                rsp.resume(new RestException(TOO_LARGE, "body: more than " + MAX_BODY_BYTES + " bytes"));
                return;
            }
            text = new String(b, StandardCharsets.UTF_8);
        } catch (IOException e) {
            rsp.resume(new RestException(Response.Status.BAD_REQUEST, "body: " + e.getMessage()));
            return;
        }
        run(rsp, p -> answer(p, text).exceptionally(e -> {
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            if (cause instanceof StatusException s) {
                LOG.warn("exchange from {} refused: {}", caller(), s.getMessage());
                cause = new RestException(status(s), s.getMessage());
            }
            throw FutureUtil.wrapToCompletionException(cause);
        }));
    }

    private CompletableFuture<String> answer(GeorepPlugin p, String text) {
        JsonNode request;
        try {
            request = parse(Json.fromProto("ExchangeRequest", Json.toProto("ExchangeRequest", text)));
        } catch (StatusException e) {
            return CompletableFuture.failedFuture(e);
        }
        return new ExchangeSplit(p, internal(), this::leads).answer(request);
    }

    private static int status(StatusException e) {
        return switch (e.code()) {
            case georep.nativelib.Status.FORMAT, georep.nativelib.Status.ARG ->
                    Response.Status.BAD_REQUEST.getStatusCode();
            case georep.nativelib.Status.LIMIT -> TOO_LARGE;
            case georep.nativelib.Status.STATE -> TOO_MANY;
            default -> Response.Status.INTERNAL_SERVER_ERROR.getStatusCode();
        };
    }

    /** Completes where this broker leads the topic and has looked at its record; a redirect where another does. */
    private CompletableFuture<Void> leads(GeorepPlugin p, TopicName topic) {
        return leader(p, topic).thenCompose(c -> c.convergence().on() ? CompletableFuture.completedFuture(null)
                : c.look().thenApply(r -> null));
    }

    private String caller() {
        return clientAppId() + "@" + httpRequest.getRemoteAddr();
    }
}
