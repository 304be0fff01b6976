// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.Encoded;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.broker.admin.AdminResource;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.service.BrokerServiceException.TopicNotFoundException;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicDomain;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * The entries of one segment's log, byte for byte as they are stored; super-users only. {@code georep verify} compares
 * two clusters by it.
 *
 * <pre>
 *   GET entries/{tenant}/{namespace}/{topic}/{segmentId}?from=L:E&amp;max=N
 *   200 application/octet-stream: ( i64 ledger | i64 entry | u32 n | n bytes )*   big-endian
 *       X-Georep-Cluster: name of this cluster
 *       X-Georep-Next: L:E      where to go on; absent at the end of the log
 * </pre>
 *
 * {@code from} defaults to the first entry that is still there. An answer holds at most {@code max} entries and about
 * {@link RawLog#MAX_BYTES} bytes, but always one entry. Sealed segments are read like active ones. The segment's owner
 * answers, others redirect (307). Too many readers at once: 503.
 */
@Path("/")
public class RawEntriesResource extends AdminResource {
    public static final String CLUSTER = "X-Georep-Cluster";
    public static final String NEXT = "X-Georep-Next";

    @GET
    @Path("/entries/{tenant}/{namespace}/{topic}/{segment}")
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public void entries(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                        @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                        @PathParam("segment") long segment, @QueryParam("from") String from,
                        @QueryParam("max") @DefaultValue("1000") int max,
                        @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        validateSuperUserAccessAsync().thenCompose(x -> {
            validateNamespaceName(tenant, namespace);
            TopicName tn = TopicName.get(TopicDomain.topic.value(), namespaceName, topic);
            Position start = from == null ? PositionFactory.EARLIEST : position(from);
            if (max < 1 || max > RawLog.MAX_ENTRIES) {
                throw bad("max: must be 1.." + RawLog.MAX_ENTRIES);
            }
            GeorepPlugin p = plugin();
            if (from == null) { // the first call of a reader, not every page of it
                Audit.log(clientAppId() + "@" + httpRequest.getRemoteAddr(), "entries", tn.toString(),
                        "segment=" + segment);
            }
            return p.records().fresh(tn)
                    .thenCompose(m -> owned(tn, m, segment, authoritative))
                    .thenCompose(t -> p.service(RawLog.class, RawLog::new).read(t.getManagedLedger(), start, max));
        }).thenAccept(page -> rsp.resume(answer(page))).exceptionally(e -> {
            Throwable cause = FutureUtil.unwrapCompletionException(e);
            resumeAsyncResponseExceptionally(rsp, cause instanceof TopicNotFoundException
                    ? new RestException(Response.Status.NOT_FOUND, cause.getMessage()) : cause);
            return null;
        });
    }

    private Response answer(RawLog.Page page) {
        Response.ResponseBuilder b = Response.ok(page.bytes(), MediaType.APPLICATION_OCTET_STREAM_TYPE)
                .header(CLUSTER, pulsar().getConfiguration().getClusterName());
        if (page.next() != null) {
            b.header(NEXT, page.next().getLedgerId() + ":" + page.next().getEntryId());
        }
        return b.build();
    }

    private GeorepPlugin plugin() {
        GeorepPlugin p = GeorepPlugin.of(pulsar());
        if (p == null || !p.usable()) {
            throw new RestException(Response.Status.SERVICE_UNAVAILABLE, "georep does not work with this broker: "
                    + (p == null ? "it is closing" : String.join("; ", p.problems())));
        }
        return p;
    }

    /** The segment's topic, loaded on this broker; redirects to its owner. */
    private CompletableFuture<PersistentTopic> owned(TopicName tn, ScalableTopicMetadata m, long id,
                                                     boolean authoritative) {
        SegmentInfo s = m.getSegments().get(id);
        if (s == null) {
            throw new RestException(Response.Status.NOT_FOUND, tn + " has no segment " + id);
        }
        TopicName log = s.isLegacy() ? TopicName.get(s.legacyTopicName())
                : SegmentTopicName.fromParent(tn, s.hashRange(), id);
        return validateTopicOwnershipAsync(log, authoritative)
                .thenCompose(x -> pulsar().getBrokerService().getTopicIfExists(log.toString()))
                .thenApply(t -> {
                    if (t.isPresent() && t.get() instanceof PersistentTopic found) {
                        return found;
                    }
                    throw new RestException(Response.Status.NOT_FOUND, "no topic " + log);
                });
    }

    private static Position position(String text) {
        String[] p = text.split(":", -1);
        try {
            if (p.length == 2) {
                long ledger = Long.parseLong(p[0]);
                long entry = Long.parseLong(p[1]);
                if (ledger >= 0 && entry >= 0) {
                    return PositionFactory.create(ledger, entry);
                }
            }
        } catch (NumberFormatException ignored) {
            // answered below
        }
        throw bad("from: not ledger:entry");
    }

    private static RestException bad(String what) {
        return new RestException(Response.Status.BAD_REQUEST, what);
    }
}
