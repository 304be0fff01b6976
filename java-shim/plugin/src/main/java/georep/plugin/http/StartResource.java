// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Bootstrap;
import georep.nativelib.Json;
import georep.plugin.source.EntrySearch;
import georep.plugin.source.Trees;
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
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;

/**
 * Where replication of existing data begins, and beginning anew; super-users only, changes are audited.
 *
 * <pre>
 *   POST {tenant}/{namespace}/{topic}/start-at       {"remote": "B", "at": S}, or {"remote": "B", "unset": true}
 *   POST start-at/{tenant}/{namespace}               the same, for topics that say nothing themselves
 *   GET  {tenant}/{namespace}/{topic}/bootstrap?remote=B    of each segment georep.v1.BootstrapStatus by remote
 *   POST {tenant}/{namespace}/{topic}/reset-cursor   {"remote": "B", "to": S, "segments": [3], "dryRun": true}:
 *                                                    georep.v1.ResetPlan; 409 and why where order would break
 * </pre>
 *
 * S is earliest, latest, earliestNotOffloaded, ledger:entry, or a time: milliseconds since 1970, or RFC 3339. Any
 * broker answers for a topic. A start holds for remotes that have no position yet. A reset begins a new generation:
 * what was replicated before arrives again, as new entries. The brokers ask each other, by segment:
 *
 * <pre>
 *   GET  {tenant}/{namespace}/{topic}/segment/{d}/bootstrap?remote=B
 *   GET  {tenant}/{namespace}/{topic}/segment/{d}/reset-facts?remote=B    georep.v1.ResetSegment without parents
 *   POST {tenant}/{namespace}/{topic}/segment/{d}/find-entry              georep.v1.BootstrapFind: georep.v1.Position
 *   POST {tenant}/{namespace}/{topic}/segment/{d}/begin-anew?remote=B     georep.v1.StartPlan
 * </pre>
 */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class StartResource extends PluginResource {
    @POST
    @Path("/{tenant}/{namespace}/{topic}/start-at")
    public void startAt(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                        @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                        String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            JsonNode n = parse(body);
            String remote = remote(n);
            String text = start(n);
            audit("start-at", tn, "remote=" + remote + " at=" + text);
            return p.records().change(tn, r -> r.setStartAt(remote, text)).thenApply(m -> answer(text));
        });
    }

    @POST
    @Path("/start-at/{tenant}/{namespace}")
    public void startAt(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                        @PathParam("namespace") String namespace, String body) {
        run(rsp, p -> {
            validateNamespaceName(tenant, namespace);
            JsonNode n = parse(body);
            String remote = remote(n);
            String text = start(n);
            audit("start-at", namespaceName.toString(), "remote=" + remote + " at=" + text);
            return p.records().setStartAt(namespaceName, remote, text).thenApply(x -> answer(text));
        });
    }

    private String remote(JsonNode n) {
        String remote = text(n, "remote");
        if (remote.equals(pulsar().getConfiguration().getClusterName())) {
            throw new RestException(Response.Status.BAD_REQUEST, "remote: this is " + remote);
        }
        return remote;
    }

    /** As it is kept; null: it is taken away. */
    private static String start(JsonNode n) {
        return n.path("unset").asBoolean() ? null : meaning(text(n, "at"), "at").path("text").asText();
    }

    private static String answer(String text) {
        return Trees.node().put("startAt", text).toString();
    }

    /** georep.v1.StartChoice of an operator's words. */
    private static JsonNode meaning(String words, String field) {
        byte[] query = Json.toProto("StartQuery", Trees.node().put("text", words).toString());
        JsonNode choice = SegmentStatus.tree(Json.fromProto("StartChoice", Bootstrap.choose(query)));
        if (!choice.path("trouble").asText().isEmpty()) {
            throw new RestException(Response.Status.BAD_REQUEST, field + ": " + choice.path("trouble").asText());
        }
        return choice;
    }

    @GET
    @Path("/{tenant}/{namespace}/{topic}/bootstrap")
    @Consumes(MediaType.WILDCARD)
    public void bootstrap(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          @QueryParam("remote") @DefaultValue("") String remote) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            return p.records().fresh(tn).thenCompose(m -> new SegmentOwners(internal(), tn, m).starts(
                    pulsar().getConfiguration().getClusterName(), remote)).thenApply(Object::toString);
        });
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/reset-cursor")
    public void resetCursor(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                            @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                            String body) {
        run(rsp, p -> {
            TopicName tn = topic(tenant, namespace, topic);
            JsonNode n = parse(body);
            String remote = text(n, "remote");
            ObjectNode request = Trees.node().put("remote", remote);
            request.set("to", meaning(text(n, "to"), "to").path("start"));
            if (n.has("segments")) {
                request.set("segments", n.get("segments"));
            }
            boolean dryRun = n.path("dryRun").asBoolean();
            audit("reset-cursor", tn, "remote=" + remote + " to=" + text(n, "to") + " segments=" + n.path("segments")
                    + " dryRun=" + dryRun);
            return p.records().fresh(tn).thenCompose(m -> new CursorResets(new SegmentOwners(internal(), tn, m),
                    request).run(dryRun)).thenApply(Object::toString);
        });
    }

    @GET
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/bootstrap")
    @Consumes(MediaType.WILDCARD)
    public void segmentStarts(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                              @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                              @PathParam("descriptor") String descriptor,
                              @QueryParam("remote") @DefaultValue("") String remote,
                              @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        run(rsp, p -> onOwner(tenant, namespace, topic, descriptor, authoritative).thenApply(t -> {
            ObjectNode all = Trees.node();
            ObjectNode remotes = all.putObject("remotes");
            t.replicationClusters().stream().filter(c -> remote.isEmpty() || c.equals(remote)).forEach(c ->
                    remotes.set(c, t.startStatus(c)));
            return all.toString();
        }));
    }

    @GET
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/reset-facts")
    @Consumes(MediaType.WILDCARD)
    public void resetFacts(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                           @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                           @PathParam("descriptor") String descriptor, @QueryParam("remote") String remote,
                           @QueryParam("authoritative") @DefaultValue("false") boolean authoritative) {
        run(rsp, p -> onOwner(tenant, namespace, topic, descriptor, authoritative).thenCompose(t -> {
            replicated(t, remote);
            return t.resetFacts(remote);
        }).thenApply(Object::toString));
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/find-entry")
    public void findEntry(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          @PathParam("descriptor") String descriptor,
                          @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        run(rsp, p -> {
            JsonNode f = SegmentStatus.tree(Json.fromProto("BootstrapFind", message("BootstrapFind", body)));
            return onOwner(tenant, namespace, topic, descriptor, authoritative)
                    .thenCompose(t -> EntrySearch.first(t.getManagedLedger(), Trees.position(f.path("first")),
                            Trees.position(f.path("last")), f.path("millis").asLong()))
                    .thenApply(found -> Trees.of(found).toString());
        });
    }

    @POST
    @Path("/{tenant}/{namespace}/{topic}/segment/{descriptor}/begin-anew")
    public void beginAnew(@Suspended AsyncResponse rsp, @PathParam("tenant") String tenant,
                          @PathParam("namespace") String namespace, @PathParam("topic") @Encoded String topic,
                          @PathParam("descriptor") String descriptor, @QueryParam("remote") String remote,
                          @QueryParam("authoritative") @DefaultValue("false") boolean authoritative, String body) {
        run(rsp, p -> {
            byte[] plan = message("StartPlan", body);
            return onOwner(tenant, namespace, topic, descriptor, authoritative).thenCompose(t -> {
                replicated(t, remote);
                audit("begin-anew", TopicName.get(t.getName()), "remote=" + remote);
                return t.resetReplication(remote, plan).thenApply(x -> "{}");
            });
        });
    }

    private static void replicated(ReplicatedSegmentTopic t, String remote) {
        if (remote == null || !t.getReplicators().containsKey(remote)) {
            throw new RestException(Response.Status.NOT_FOUND, "remote: " + t.getName() + " is not replicated to "
                    + remote);
        }
    }
}
