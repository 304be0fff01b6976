// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Json;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.TopicRecord;
import georep.plugin.source.LedgerList;
import georep.plugin.source.Trees;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;

/** Where the replication cursors of one segment start: what is being planned, and what has been. Thread-safe. */
final class SegmentStarts {
    private final ReplicatedSegmentTopic topic;
    private final TopicName parent;
    private final long segment;
    private final Map<String, StartPlanner> planners = new ConcurrentHashMap<>();

    SegmentStarts(ReplicatedSegmentTopic topic, TopicName parent, long segment) {
        this.topic = topic;
        this.parent = parent;
        this.segment = segment;
    }

    private ManagedLedger log() {
        return topic.getManagedLedger();
    }

    /**
     * Completes when the cursor for a remote stands where its replication begins.
     *
     * @param over when this completes nobody waits for it any more
     */
    CompletableFuture<Void> begin(GeorepPlugin plugin, String remote, ManagedCursor cursor,
                                  CompletableFuture<Void> over) {
        return plugin.records().fresh(parent).thenCompose(m -> {
            StartPlanner p = new StartPlanner(topic.getName() + " to " + remote, cursor, config(m, remote, cursor),
                    () -> read(plugin, remote), topic.getBrokerService().executor());
            planners.put(remote, p);
            CompletableFuture.anyOf(over, p.done()).whenComplete((x, e) -> {
                planners.remove(remote, p);
                p.close();
            });
            p.start();
            return p.done();
        });
    }

    private ObjectNode config(ScalableTopicMetadata m, String remote, ManagedCursor cursor) {
        ObjectNode c = Trees.node().put("remote", remote).put("segment", segment)
                .put("nowMillis", System.currentTimeMillis())
                .put("hasPosition", cursor.getCursorProperties().containsKey(CursorGeneration.PROPERTY));
        SegmentInfo own = m.getSegments().get(segment);
        if (own != null) {
            c.put("createdEpoch", own.createdAtEpoch());
        }
        Long joined = TopicRecord.of(m).joined(remote);
        if (joined != null) {
            c.put("joinedEpoch", joined);
        }
        c.set("end", Trees.of(Trees.behind(log().getLastConfirmedEntry())));
        if (CursorStart.hold(cursor) != null) {
            c.set("held", Trees.parse(CursorStart.hold(cursor)));
        }
        byte[] plan = CursorStart.plan(cursor);
        if (plan != null) {
            c.set("placed", Trees.parse(Json.fromProto("StartPlan", plan)));
        }
        ArrayNode lineage = c.putArray("lineage");
        ancestors(m).forEach(id -> {
            SegmentInfo a = m.getSegments().get(id);
            ObjectNode n = lineage.addObject().put("id", id).put("legacy", a.isLegacy() ? a.legacyTopicName() : "")
                    .put("state", a.isActive() ? "SEGMENT_STATE_ACTIVE" : "SEGMENT_STATE_SEALED");
            n.putObject("range").put("start", a.hashRange().start()).put("end", a.hashRange().end());
            a.parentIds().forEach(n.putArray("parents")::add);
            a.childIds().forEach(n.putArray("children")::add);
        });
        return c;
    }

    private Set<Long> ancestors(ScalableTopicMetadata m) {
        Set<Long> all = new LinkedHashSet<>();
        ancestors(m, segment, all);
        return all;
    }

    private static void ancestors(ScalableTopicMetadata m, long of, Set<Long> all) {
        SegmentInfo s = m.getSegments().get(of);
        if (s != null) {
            s.parentIds().stream().filter(p -> m.getSegments().containsKey(p) && all.add(p))
                    .forEach(p -> ancestors(m, p, all));
        }
    }

    /** georep.v1.BootstrapRead. */
    private CompletableFuture<ObjectNode> read(GeorepPlugin plugin, String remote) {
        return plugin.records().startQuery(parent, remote).thenCombine(logNow(), (query, log) -> {
            ObjectNode n = Trees.node();
            n.set("policy", query);
            n.set("log", log);
            return n;
        });
    }

    /** georep.v1.SegmentLog, from the metadata store. */
    CompletableFuture<ObjectNode> logNow() {
        return topic.logRecord().read().thenApply((LedgerList l) -> l.log(topic.compacted()));
    }

    /** georep.v1.ResetSegment without parents. */
    CompletableFuture<ObjectNode> resetFacts(String remote, ManagedCursor cursor) {
        return logNow().thenApply(log -> {
            String generation = cursor.getCursorProperties().get(CursorGeneration.PROPERTY);
            boolean planning = CursorStart.hold(cursor) != null;
            ObjectNode n = Trees.node().put("segment", segment).put("planning", planning)
                    .put("generation", generation == null ? "0" : generation)
                    .put("published", !planning && published(remote, cursor));
            n.set("next", Trees.of(Trees.behind(cursor.getMarkDeletedPosition())));
            n.set("log", log);
            byte[] plan = CursorStart.plan(cursor);
            if (plan != null) {
                n.set("placed", Trees.parse(Json.fromProto("StartPlan", plan)));
            }
            return n;
        });
    }

    /** Something of it has left the cursor since it began, or may leave it now; where that is not known, too. */
    private boolean published(String remote, ManagedCursor cursor) {
        if (!(topic.getReplicators().get(remote) instanceof SegmentReplicator r) || r.windowStatusJson() == null
                || r.gateOpen() || cursor.getTotalNonContiguousDeletedMessagesRange() > 0) {
            return true;
        }
        byte[] plan = CursorStart.plan(cursor);
        Position next = Trees.behind(cursor.getMarkDeletedPosition());
        Position began = plan == null ? log().getFirstPosition()
                : Trees.position(Trees.parse(Json.fromProto("StartPlan", plan)).path("start"));
        return next.compareTo(began) > 0;
    }

    /** JSON of georep.v1.BootstrapStatus. */
    ObjectNode status(String remote, ManagedCursor cursor) {
        StartPlanner p = planners.get(remote);
        String running = p == null ? null : p.status();
        if (running != null) {
            return (ObjectNode) Trees.parse(running);
        }
        byte[] plan = CursorStart.plan(cursor);
        String hold = CursorStart.hold(cursor);
        ObjectNode n = Trees.node().put("state", hold != null ? "holding" : plan != null ? "placed" : "kept");
        if (hold != null) {
            n.put("why", "the topic's leader has not prepared replication yet")
                    .put("sinceMillis", Trees.parse(hold).path("sinceMillis").asText());
        } else if (plan != null) {
            n.set("plan", Trees.parse(Json.fromProto("StartPlan", plan)));
        }
        return n;
    }
}
