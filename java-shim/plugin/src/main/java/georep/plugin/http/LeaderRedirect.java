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

    /** Completes where this broker leads, or where nobody does yet; else fails with a 307 to the leader. */
    CompletableFuture<Void> unlessLeader(TopicName topic) {
        ScalableTopicResources r = pulsar.getPulsarResources().getScalableTopicResources();
        return r.getStore().get(r.controllerLockPath(topic)).thenCompose(this::unlessOwn);
    }

    private CompletableFuture<Void> unlessOwn(Optional<GetResult> lock) {
        if (lock.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        String leader;
        try {
            leader = ObjectMapperFactory.getMapper().reader().readValue(lock.get().getValue(), String.class);
        } catch (IOException e) {
            return CompletableFuture.failedFuture(e);
        }
        if (leader.equals(pulsar.getBrokerId())) {
            return CompletableFuture.completedFuture(null);
        }
        return pulsar.getNamespaceService().createLookupResult(leader, false, null).thenCompose(found -> {
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
}
