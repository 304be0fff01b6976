// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import jakarta.ws.rs.ProcessingException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.client.Entity;
import jakarta.ws.rs.client.InvocationCallback;
import jakarta.ws.rs.client.WebTarget;
import jakarta.ws.rs.core.MediaType;
import java.lang.reflect.Field;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.admin.internal.BaseResource;
import org.apache.pulsar.client.admin.internal.PulsarAdminImpl;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Calls the plugin of a remote cluster under /admin/v2/scalable-repl through the admin client that the broker keeps
 * for that cluster, with its TLS, its authentication and its redirects to the topic's controller. Stateless.
 *
 * <p>Failures are PulsarAdminExceptions; {@code getStatusCode()} is 404 where there is no plugin or no topic.
 */
public final class PeerClient extends BaseResource {
    /** Where the plugin's servlet is mounted. */
    public static final String BASE = "/admin/v2/scalable-repl";
    private static final long TIMEOUT_MILLIS = 30_000;

    private final WebTarget base;

    private PeerClient(WebTarget root, Authentication auth) {
        super(auth, TIMEOUT_MILLIS);
        this.base = root.path(BASE);
    }

    /**
     * Wraps an admin client.
     *
     * @throws IllegalStateException when this client version keeps its web target elsewhere
     */
    public static PeerClient of(PulsarAdmin admin) {
        try {
            return new PeerClient((WebTarget) field("root").get(admin), (Authentication) field("auth").get(admin));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("georep: PulsarAdminImpl has changed: " + e, e);
        }
    }

    private static Field field(String name) throws NoSuchFieldException {
        Field f = PulsarAdminImpl.class.getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }

    private WebTarget target(TopicName topic, String call) {
        return base.path(topic.getTenant()).path(topic.getNamespacePortion()).path(topic.getEncodedLocalName())
                .path(call);
    }

    /** GET status/{topic}: replication of the topic as that cluster sees it; the answer's JSON text. */
    public CompletableFuture<String> status(TopicName topic) {
        Answer a = new Answer();
        asyncGetRequest(base.path("status").path(topic.getTenant()).path(topic.getNamespacePortion())
                .path(topic.getEncodedLocalName()), a);
        return a.within();
    }

    /** POST exchange: an ExchangeRequest; the ExchangeResponse. Both are JSON. */
    public CompletableFuture<String> exchange(String json) {
        Answer a = new Answer();
        asyncPostRequestWithResponse(base.path("exchange"), Entity.entity(json, MediaType.APPLICATION_JSON), a);
        return a.within();
    }

    /** GET {topic}/{call}; the answer's JSON text. The query alternates names and values. */
    public CompletableFuture<String> get(TopicName topic, String call, String... query) {
        Answer a = new Answer();
        asyncGetRequest(with(target(topic, call), query), a);
        return a.within();
    }

    private static WebTarget with(WebTarget t, String... query) {
        WebTarget all = t;
        for (int i = 0; i < query.length; i += 2) {
            all = all.queryParam(query[i], query[i + 1]);
        }
        return all;
    }

    /** POST {topic}/{call} with a JSON text; the answer's JSON text. */
    public CompletableFuture<String> post(TopicName topic, String call, String json, String... query) {
        Answer a = new Answer();
        asyncPostRequestWithResponse(with(target(topic, call), query), Entity.entity(json,
                MediaType.APPLICATION_JSON), a);
        return a.within();
    }

    /** Not a lambda: the client finds the answer's type in the class. */
    private static final class Answer implements InvocationCallback<String> {
        final CompletableFuture<String> future = new CompletableFuture<>();

        /** The answer, or a failure in good time: the connector alone would wait for minutes, with all who ask. */
        CompletableFuture<String> within() {
            return future.orTimeout(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS).exceptionally(e -> {
                throw FutureUtil.wrapToCompletionException(e instanceof TimeoutException
                        ? new PulsarAdminException("no answer within " + TIMEOUT_MILLIS / 1000 + " s") : e);
            });
        }

        @Override
        public void completed(String s) {
            future.complete(s);
        }

        @Override
        public void failed(Throwable e) {
            // the connector wraps an answer with an error status, and the status is what tells "no plugin" apart
            Throwable cause = e instanceof ProcessingException && e.getCause() instanceof WebApplicationException
                    ? e.getCause() : e;
            future.completeExceptionally(BaseResource.getApiException(cause));
        }
    }
}
