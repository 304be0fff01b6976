// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.nativelib.Json;
import georep.nativelib.Peer;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.TopicRecord;
import georep.plugin.dest.GoneOrigins;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.Encoded;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * The plugin's calls, for other clusters' brokers and for operators; super-users only.
 *
 * <pre>
 *   GET|POST  {tenant}/{namespace}/{topic}/state      who are you: georep.v1.PeerState; the topic's leader answers
 *   POST      {tenant}/{namespace}/{topic}/watermark  georep.v1.WatermarkRequest; the segment's owner answers
 *   GET       status/{tenant}/{namespace}[/{topic}]   replication as this cluster sees it
 * </pre>
 *
 * A call that belongs to another broker of the cluster is redirected there (307).
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
public class ReplicationResource extends PluginResource {

    @GET
    @Path("/{tenant}/{namespace}/{topic}/state")
    public void state(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                      @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic) {
        answerState(rsp, tenant, namespace, topic);
    }

    /** The handshake. What the caller says of itself is taken note of by later versions. */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/state")
    @Consumes(MediaType.APPLICATION_JSON)
    public void handshake(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          String body) {
        answerState(rsp, tenant, namespace, topic);
    }

    private void answerState(AsyncResponse rsp, String tenant, String namespace, String topic) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            // reads only, but for the first question to a topic that has no instance id: it may only receive
            return leader(p, tn).thenCompose(c -> p.records().change(tn, (m, r) -> {
                r.ensureInstance();
                r.recordSegments(m, p.firstSegment());
            }).thenApply(m -> {
                p.counters().handshakes.increment();
                return Json.fromProto("PeerState", Peer.buildState(json(m), pulsar().getConfiguration()
                        .getClusterName(), tn.toString(), TopicRecord.of(m).term(), c.nextCounter(),
                        pulsar().getConfiguration().getMaxMessageSize(), p.profile().equals("m1") ? Peer.PROFILE_M1
                        : Peer.PROFILE_PIP486, GeorepPlugin.VERSION));
            }));
        });
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/watermark")
    @Consumes(MediaType.APPLICATION_JSON)
    public void watermark(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            WatermarkCall.Request q = WatermarkCall.parse(body);
            return p.records().fresh(tn).thenCompose(m -> {
                p.counters().watermarkQueries.increment();
                SegmentInfo s = m.getSegments().get(q.segment());
                return s == null ? CompletableFuture.completedFuture(WatermarkCall.answer(WatermarkCall.GONE))
                        : segmentWatermark(tn, s, q, authoritative);
            });
        });
    }

    private CompletableFuture<String> segmentWatermark(TopicName tn, SegmentInfo s, WatermarkCall.Request q,
                                                       boolean authoritative) {
        if (s.isLegacy()) {
            return FutureUtil.failedFuture(new RestException(Response.Status.BAD_REQUEST,
                    "segment: a legacy segment keeps no watermarks"));
        }
        TopicName segment = SegmentTopicName.fromParent(tn, s.hashRange(), s.segmentId());
        return validateTopicOwnershipAsync(segment, authoritative)
                .thenCompose(x -> pulsar().getBrokerService().getTopicIfExists(segment.toString()))
                .thenCompose(t -> {
                    if (t.isEmpty()) { // an active segment's topic may be about to be created
                        return CompletableFuture.completedFuture(WatermarkCall.answer(s.isSealed() ? WatermarkCall.GONE
                                : WatermarkCall.NOT_FINAL));
                    }
                    if (!(t.get() instanceof ReplicatedSegmentTopic r)) {
                        return FutureUtil.failedFuture(new RestException(Response.Status.SERVICE_UNAVAILABLE,
                                "topicFactoryClassName is not configured on " + pulsar().getBrokerId()));
                    }
                    return r.finalWatermark(q.key()).thenApply(WatermarkCall::answer).exceptionally(e -> {
                        if (FutureUtil.unwrapCompletionException(e)
                                instanceof ReplicatedSegmentTopic.NotFinalException) {
                            return WatermarkCall.answer(WatermarkCall.NOT_FINAL);
                        }
                        throw FutureUtil.wrapToCompletionException(e);
                    });
                });
    }

    /** From the topic's leader: what an origin says of itself; this segment forgets streams that are gone there. */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/forget-origins")
    @Consumes(MediaType.APPLICATION_JSON)
    public void forgetOrigins(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                              @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                              @PathParam("descriptor") String descriptor,
                              @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String state) {
        run(rsp, p -> {
            GoneOrigins says;
            try {
                says = GoneOrigins.ofState(SegmentStatus.tree(state));
            } catch (IllegalArgumentException e) {
                throw new RestException(Response.Status.BAD_REQUEST, e.getMessage());
            }
            return onOwner(tenant, namespace, topic, descriptor, authoritative)
                    .thenApply(t -> "{\"forgotten\":" + t.forgetOrigins(says) + "}");
        });
    }

    @GET
    @Path("/status/{tenant}/{namespace}")
    public void namespaceStatus(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                                @PathParam("namespace") String namespace) {
        run(rsp, p -> {
            validateNamespaceName(tenant, namespace);
            return new StatusReport(p).namespace(namespaceName);
        });
    }

    @GET
    @Path("/status/{tenant}/{namespace}/{topic}")
    public void topicStatus(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                            @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            return leader(p, tn).thenCompose(c -> new StatusReport(p).topic(tn));
        });
    }

    /** One segment, by the broker that owns it; the topic's status is made of these. */
    @GET
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}")
    public void segmentStatus(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                              @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                              @PathParam("descriptor") String descriptor,
                              @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        run(rsp, p -> onOwner(tenant, namespace, topic, descriptor, authoritative)
                .thenApply(s -> SegmentStatus.of(s).toString()));
    }
}
