// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriBuilder;
import java.io.IOException;
import java.net.URI;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.apache.pulsar.metadata.api.GetResult;

/** Sends a request to the broker that leads a topic's controller, as the broker's own scalable-topic calls do. */
final class LeaderRedirect {
    private final PulsarService pulsar;
    private final URI request;
    private final boolean https;

    LeaderRedirect(PulsarService pulsar, URI request, boolean https) {
        this.pulsar = pulsar;
        this.request = request;
        this.https = https;
    }

    /** Completes where this broker leads, or where nobody does yet; else fails with a 307 to the leader, or a 503. */
    CompletableFuture<Void> unlessLeader(TopicName topic) {
        ScalableTopicResources r = pulsar.getPulsarResources().getScalableTopicResources();
        return r.getStore().get(r.controllerLockPath(topic)).thenCompose(this::unlessOwn);
    }

    private CompletableFuture<Void> unlessOwn(Optional<GetResult> lock) {
        if (lock.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        String leader = name(lock.get());
        if (leader.equals(pulsar.getBrokerId())) {
            return CompletableFuture.completedFuture(null);
        }
        return pulsar.getNamespaceService().createLookupResult(leader, false, null).exceptionally(e -> {
            // so it is while a broker is being closed; "not found" would say that there is no such topic
            throw nobody(leader + " is not registered: " + FutureUtil.unwrapCompletionException(e));
        }).thenCompose(found -> {
            String url = https ? found.getLookupData().getHttpUrlTls() : found.getLookupData().getHttpUrl();
            if (url == null) {
                return CompletableFuture.failedFuture(new RestException(Response.Status.PRECONDITION_FAILED,
                        "controller leader " + leader + " has no address for this scheme"));
            }
            URI to = URI.create(url);
            return CompletableFuture.failedFuture(new WebApplicationException(Response.temporaryRedirect(
                    UriBuilder.fromUri(request).host(to.getHost()).port(to.getPort()).build()).build()));
        });
    }

    /** A name becomes part of a path in the store. */
    private static String name(GetResult lock) {
        try {
            String leader = ObjectMapperFactory.getMapper().reader().readValue(lock.getValue(), String.class);
            if (leader != null && leader.indexOf('/') < 0) {
                return leader;
            }
            throw nobody(leader + " is no name of a broker");
        } catch (IOException e) {
            throw nobody(e.getMessage());
        }
    }

    /** The caller may come again. */
    private static RestException nobody(String why) {
        return new RestException(Response.Status.SERVICE_UNAVAILABLE, "controller leader: " + why);
    }
}
