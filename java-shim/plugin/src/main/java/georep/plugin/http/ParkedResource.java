// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
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
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.common.naming.TopicName;

/**
 * Entries that wait for an operator: seen, and let go; super-users only.
 *
 * <pre>
 *   GET  {tenant}/{namespace}/{topic}/parked?remote=B              every segment's, with reason and start of each
 *   GET  {tenant}/{namespace}/{topic}/segment/{d}/parked           one segment's, by its owner
 *   POST {tenant}/{namespace}/{topic}/skip                         {"remote": "B", "position": "5:17", "segment": 3}
 * </pre>
 *
 * Any broker answers for a topic. The segment of a skip may be left out: a ledger belongs to one. Where the position is
 * not parked, nothing changes and the answer is 409.
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class ParkedResource extends PluginResource {

    @GET
    @Path("/{tenant}/{namespace}/{topic}/parked")
    @Consumes(MediaType.WILDCARD)
    public void parked(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                       @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                       @QueryParam("remote") @DefaultValue("") String remote) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            return p.records().fresh(tn).thenCompose(m -> new ParkedReport(p, internal(), tn, m, null, remote)
                    .list(true)).thenApply(Object::toString);
        });
    }

    @GET
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/parked")
    @Consumes(MediaType.WILDCARD)
    public void parkedInSegment(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                                @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                                @PathParam("descriptor") String descriptor,
                                @QueryParam("remote") @DefaultValue("") String remote,
                                @QueryParam("heads") @DefaultValue("true") boolean heads,
                                @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        run(rsp, p -> onOwner(tenant, namespace, topic, descriptor, authoritative)
                .thenCompose(t -> ParkedEntries.of(p, t, remote, heads)));
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/skip")
    public void skip(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                     @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                     String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            JsonNode n = parse(body);
            String remote = text(n, "remote");
            Position at = position(text(n, "position"), "position");
            Long segment = n.has("segment") ? (Long) number(n, "segment") : null;
            audit("skip", tn, "remote=" + remote + " position=" + at.getLedgerId() + ":" + at.getEntryId()
                    + (segment == null ? "" : " segment=" + segment));
            return p.records().fresh(tn).thenCompose(m -> new ParkedReport(p, internal(), tn, m, segment, remote)
                    .skip(at.getLedgerId(), at.getEntryId()));
        });
    }
}
