// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Json;
import georep.nativelib.Peer;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.TopicRecord;
import georep.plugin.dest.OriginKey;
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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * The plugin's calls, for other clusters' brokers and for operators; super-users only.
 *
 * <pre>
 *   GET       {tenant}/{namespace}/{topic}/state      who are you: georep.v1.PeerState; the topic's leader answers
 *   POST      {tenant}/{namespace}/{topic}/state      the same, and who is asking: the handshake
 *   POST      {tenant}/{namespace}/{topic}/watermark  georep.v1.WatermarkRequest; the segment's owner answers
 *   POST      {tenant}/{namespace}/{topic}/segment/{d}/forget       georep.v1.OriginKeys: gone at their origin
 *   POST      {tenant}/{namespace}/{topic}/segment/{d}/read-record  the topic's record has changed
 *   GET       {tenant}/{namespace}/{topic}/convergence   georep.v1.ConvergeStatus; the topic's leader answers
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
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            return leader(p, tn).thenCompose(c -> p.records().fresh(tn).thenApply(m -> answer(p, c, tn, m)));
        });
    }

    /**
     * The handshake: the body is the caller's state. Where the caller may write here once the leader has prepared the
     * topic, it does so: a topic that only receives has nobody else who would. Any other caller changes nothing.
     */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/state")
    @Consumes(MediaType.APPLICATION_JSON)
    public void handshake(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            byte[] caller = message("PeerState", body);
            return leader(p, tn).thenCompose(c -> p.records().fresh(tn).thenCompose(m ->
                    Peer.check(caller, state(p, c, tn, m)).prepare() ? p.records().change(tn, (now, r) -> {
                        r.ensureInstance();
                        r.recordSegments(now, p.firstSegment());
                    }) : CompletableFuture.completedFuture(m)).thenApply(m -> answer(p, c, tn, m)));
        });
    }

    private String answer(GeorepPlugin p, ReplicatedController c, TopicName tn, ScalableTopicMetadata m) {
        p.counters().handshakes.increment();
        return Json.fromProto("PeerState", state(p, c, tn, m));
    }

    private byte[] state(GeorepPlugin p, ReplicatedController c, TopicName tn, ScalableTopicMetadata m) {
        return Peer.buildState(json(m), pulsar().getConfiguration().getClusterName(), tn.toString(),
                TopicRecord.of(m).term(), c.nextCounter(), pulsar().getConfiguration().getMaxMessageSize(),
                p.profile().equals("m1") ? Peer.PROFILE_M1 : Peer.PROFILE_PIP486, GeorepPlugin.VERSION);
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

    /** From the leader of the source topic: streams that it does not have any more are forgotten by this segment. */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/forget")
    @Consumes(MediaType.APPLICATION_JSON)
    public void forget(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                       @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                       @PathParam("descriptor") String descriptor,
                       @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        run(rsp, p -> {
            List<OriginKey> keys = WatermarkCall.keys(Json.fromProto("OriginKeys", message("OriginKeys", body)));
            return onOwner(tenant, namespace, topic, descriptor, authoritative)
                    .thenApply(t -> "{\"forgotten\":" + t.forgetStreams(keys) + "}");
        });
    }

    /** From the topic's leader: loads the segment, and the topic's record says something new; does it take entries? */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/read-record")
    public void readRecord(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                           @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                           @PathParam("descriptor") String descriptor,
                           @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        run(rsp, p -> onOwner(tenant, namespace, topic, descriptor, authoritative)
                .thenCompose(t -> t.readRecord().thenApply(x -> "{\"ended\":" + t.getManagedLedger().isTerminated()
                        + "}")));
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

    /** How the topic's layout follows its peers': georep.v1.ConvergeStatus, by the leader; {} where it does not. */
    @GET
    @Path("/{tenant}/{namespace}/{topic}/convergence")
    public void convergence(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                            @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic) {
        run(rsp, p -> leader(p, topic(tenant, namespace, topic)).thenApply(c -> {
            JsonNode n = c.convergence().status();
            return n == null ? "{}" : n.toString();
        }));
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
