// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Bootstrap;
import georep.nativelib.Json;
import jakarta.ws.rs.core.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.StreamSupport;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * One reset of a topic's cursors to a remote: what the segments' owners say goes to the core, which says what would
 * happen or why it must not; the owners do it.
 */
final class CursorResets {
    private final SegmentOwners owners;
    private final ObjectNode request;
    private final String remote;

    /** @param request georep.v1.ResetRequest without what is known */
    CursorResets(SegmentOwners owners, ObjectNode request) {
        this.owners = owners;
        this.request = request;
        this.remote = request.path("remote").asText();
    }

    /** georep.v1.ResetPlan without the plans of the single segments. */
    CompletableFuture<ObjectNode> run(boolean dryRun) {
        return facts().thenCompose(x -> plan()).thenCompose(plan -> {
            if (!plan.path("refused").asText().isEmpty()) {
                throw new RestException(Response.Status.CONFLICT, plan.path("refused").asText());
            }
            return (dryRun ? CompletableFuture.<Void>completedFuture(null) : carryOut(plan)).thenApply(x -> {
                plan.path("segments").forEach(s -> ((ObjectNode) s).remove("plan"));
                return plan;
            });
        });
    }

    private CompletableFuture<Void> facts() {
        var known = request.putArray("known");
        List<CompletableFuture<ObjectNode>> all = new ArrayList<>();
        for (SegmentInfo s : owners.segments()) {
            all.add(owners.get(s, "reset-facts", remote).handle((json, e) -> {
                if (e != null) {
                    throw failed(s, "cannot be asked", e);
                }
                ObjectNode one = (ObjectNode) SegmentStatus.tree(json);
                s.parentIds().forEach(one.putArray("parents")::add);
                return one;
            }));
        }
        return FutureUtil.waitForAll(all).thenRun(() -> all.forEach(f -> known.add(f.join())));
    }

    private static RestException failed(SegmentInfo s, String what, Throwable e) {
        int status = FutureUtil.unwrapCompletionException(e) instanceof PulsarAdminException a ? a.getStatusCode() : 0;
        return new RestException(status == Response.Status.NOT_FOUND.getStatusCode() ? Response.Status.NOT_FOUND
                : Response.Status.SERVICE_UNAVAILABLE, "segment " + s.segmentId() + " " + what + ": "
                + SegmentOwners.message(e));
    }

    /** Asks again while there are entries to be looked for. */
    private CompletableFuture<ObjectNode> plan() {
        byte[] answer = Bootstrap.resetPlan(Json.toProto("ResetRequest", request.toString()));
        ObjectNode plan = (ObjectNode) SegmentStatus.tree(Json.fromProto("ResetPlan", answer));
        if (plan.path("finds").isEmpty()) {
            return CompletableFuture.completedFuture(plan);
        }
        List<CompletableFuture<?>> all = new ArrayList<>();
        plan.path("finds").forEach(f -> {
            SegmentInfo s = segment(f);
            all.add(owners.post(s, "find-entry", f.toString()).handle((json, e) -> {
                if (e != null) {
                    throw failed(s, "cannot be searched", e);
                }
                return known(s).set("found", SegmentStatus.tree(json));
            }));
        });
        return FutureUtil.waitForAll(all).thenCompose(x -> plan());
    }

    private SegmentInfo segment(JsonNode n) {
        return owners.segments().stream().filter(s -> s.segmentId() == n.path("segment").asLong()).findFirst()
                .orElseThrow();
    }

    private ObjectNode known(SegmentInfo s) {
        return StreamSupport.stream(request.path("known").spliterator(), false).filter(k ->
                k.path("segment").asLong() == s.segmentId()).map(ObjectNode.class::cast).findFirst().orElseThrow();
    }

    /** One after the other, as the plan has them; the next one only where the one before is done. */
    private CompletableFuture<Void> carryOut(ObjectNode plan) {
        CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
        for (JsonNode r : plan.path("segments")) {
            SegmentInfo s = segment(r);
            all = all.thenCompose(x -> owners.post(s, "begin-anew", r.path("plan").toString(), "remote", remote))
                    .handle((json, e) -> {
                        if (e != null && FutureUtil.unwrapCompletionException(e) instanceof RestException known) {
                            throw known;
                        }
                        if (e != null) {
                            throw failed(s, "was not reset, nor were those that follow; do it again", e);
                        }
                        return null;
                    });
        }
        return all;
    }
}
