// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.source.ReplicationSource;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.Encoded;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.HashRange;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * What an operator does to running replication; super-users only, audited.
 *
 * <pre>
 *   POST {tenant}/{namespace}/{topic}/pause                  {"remote": "B"}   the topic, with segments to come
 *   POST {tenant}/{namespace}/{topic}/resume                 {"remote": "B"}
 *   POST {tenant}/{namespace}/{topic}/segment/{d}/pause      {"remote": "B"}   one segment
 *   POST {tenant}/{namespace}/{topic}/segment/{d}/resume     {"remote": "B"}
 *   POST {tenant}/{namespace}/{topic}/segment/{d}/skip       {"remote": "B", "ledger": 5, "entry": 17}
 *   POST {tenant}/{namespace}/{topic}/cancel-mark            {"boundary": 32768}, or {"segmentStart": 0} of its buckets
 *   POST {tenant}/{namespace}/{topic}/rebucket               {"segment": 3, "bucketStarts": [16384, 32768]}
 * </pre>
 *
 * A pause of the topic is kept in its record, one of a segment with its cursor; both outlive the broker, and a segment
 * replicates when neither is there. Skip releases exactly one parked entry: it will never arrive at that remote.
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class OperatorResource extends PluginResource {

    @POST
    @Path("/{tenant}/{namespace}/{topic}/pause")
    public void pause(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                      @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                      String body) {
        pauseTopic(rsp, tenant, namespace, topic, body, true);
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/resume")
    public void resume(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                       @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                       String body) {
        pauseTopic(rsp, tenant, namespace, topic, body, false);
    }

    private void pauseTopic(AsyncResponse rsp, String tenant, String namespace, String topic, String body, boolean on) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            String remote = text(parse(body), "remote");
            return leader(p, tn).thenCompose(c -> {
                audit(on ? "pause" : "resume", tn, "remote=" + remote);
                return c.pause(remote, on);
            }).thenApply(failures -> {
                if (failures.isEmpty()) {
                    return "{\"paused\":" + on + "}";
                }
                throw new RestException(Response.Status.SERVICE_UNAVAILABLE, (on ? "paused" : "resumed")
                        + ", but not every segment could be told yet: " + String.join("; ", failures));
            });
        });
    }

    /** An operator's merge, or fewer buckets, that waits for other clusters: it does not any more. */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/cancel-mark")
    public void cancelMark(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                           @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                           String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            JsonNode n = parse(body);
            int boundary = n.has("boundary") ? hash(number(n, "boundary"), "boundary") : 0;
            int segment = boundary == 0 ? hash(number(n, "segmentStart"), "segmentStart") : 0;
            return leader(p, tn).thenCompose(c -> {
                audit("cancel-mark", tn, "boundary=" + boundary + " segmentStart=" + segment);
                return c.convergence().cancelMark(boundary, segment);
            }).thenApply(x -> "{}");
        });
    }

    /** Other bucket starts for a segment; all clusters get more of them, and fewer wait for all. */
    @POST
    @Path("/{tenant}/{namespace}/{topic}/rebucket")
    public void rebucket(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                         @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                         String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            JsonNode n = parse(body);
            long segment = number(n, "segment");
            List<Integer> starts = new ArrayList<>();
            n.path("bucketStarts").forEach(s -> starts.add(hash(s.asLong(-1), "bucketStarts")));
            return leader(p, tn).thenCompose(c -> {
                audit("rebucket", tn, "segment=" + segment + " bucketStarts=" + starts);
                return c.convergence().rebucket(segment, starts);
            }).thenApply(x -> "{}");
        });
    }

    private static int hash(long n, String field) {
        if (n < 0 || n > HashRange.MAX_HASH) {
            throw new RestException(Response.Status.BAD_REQUEST, field + ": not a hash");
        }
        return (int) n;
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/pause")
    public void pauseSegment(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                             @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                             @PathParam("descriptor") String descriptor,
                             @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        pauseOne(rsp, tenant, namespace, topic, descriptor, authoritative, body, true);
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/resume")
    public void resumeSegment(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                              @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                              @PathParam("descriptor") String descriptor,
                              @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        pauseOne(rsp, tenant, namespace, topic, descriptor, authoritative, body, false);
    }

    private void pauseOne(AsyncResponse rsp, String tenant, String namespace, String topic, String descriptor,
                          boolean authoritative, String body, boolean on) {
        run(rsp, p -> {
            String remote = text(parse(body), "remote");
            return onOwner(tenant, namespace, topic, descriptor, authoritative).thenCompose(t -> {
                source(t, remote);
                audit(on ? "pause" : "resume", TopicName.get(t.getName()), "remote=" + remote);
                return t.pauseReplication(remote, on).thenApply(x -> "{\"paused\":" + t.paused(remote) + "}");
            });
        });
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/skip")
    public void skip(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                     @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                     @PathParam("descriptor") String descriptor,
                     @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        run(rsp, p -> {
            JsonNode n = parse(body);
            String remote = text(n, "remote");
            long ledger = number(n, "ledger");
            long entry = number(n, "entry");
            return onOwner(tenant, namespace, topic, descriptor, authoritative)
                    .thenCompose(t -> source(t, remote).skip(ledger, entry).handleAsync((x, e) -> {
                        Throwable why = FutureUtil.unwrapCompletionException(e);
                        if (why == null) {
                            audit("skip", TopicName.get(t.getName()), "remote=" + remote + " position=" + ledger + ":"
                                    + entry);
                            return "{\"skipped\":\"" + ledger + ":" + entry + "\"}";
                        }
                        throw new RestException(why instanceof IllegalArgumentException ? Response.Status.CONFLICT
                                : Response.Status.SERVICE_UNAVAILABLE, t.getName() + " to " + remote + ": "
                                + why.getMessage());
                    }, pulsar().getExecutor()));
        });
    }

    private static ReplicationSource source(ReplicatedSegmentTopic t, String remote) {
        if (t.getReplicators().get(remote) instanceof ReplicationSource s) {
            return s;
        }
        throw new RestException(Response.Status.NOT_FOUND, "remote: " + t.getName() + " is not replicated to "
                + remote);
    }
}
