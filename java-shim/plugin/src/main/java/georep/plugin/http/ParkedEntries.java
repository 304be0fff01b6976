// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.ParkedPositions;
import georep.plugin.source.ReplicationSource;
import georep.plugin.source.SourceBroker;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.broker.service.Replicator;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * The parked entries of one loaded segment, as far as its windows list them, with the start of each. The entries are
 * read from the log when they are asked for, one at a time; nothing of them stays in memory.
 */
final class ParkedEntries {
    /** How much of an entry is shown, in bytes. */
    static final int HEAD_BYTES = 64;

    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    private final GeorepPlugin plugin;
    private final ReplicatedSegmentTopic segment;
    private final ParkedPositions known;
    private final List<ObjectNode> found = new ArrayList<>();
    private long total;

    private ParkedEntries(GeorepPlugin plugin, ReplicatedSegmentTopic segment) {
        this.plugin = plugin;
        this.segment = segment;
        this.known = SourceBroker.of(plugin.pulsar()).parked();
    }

    /**
     * {parkedTotal, parked: [{remote, position, reason, since, size, head}]}; without {@code heads}, neither size nor
     * head. An empty remote is every remote.
     */
    static CompletableFuture<String> of(GeorepPlugin plugin, ReplicatedSegmentTopic segment, String remote,
                                        boolean heads) {
        ParkedEntries e = new ParkedEntries(plugin, segment);
        new TreeMap<>(segment.getReplicators()).forEach((cluster, r) -> {
            if (remote.isEmpty() || remote.equals(cluster)) {
                e.list(cluster, r);
            }
        });
        CompletableFuture<Void> read = !heads || e.found.isEmpty() ? CompletableFuture.completedFuture(null)
                : plugin.service(RawLog.class, RawLog::new).asReader(e::readHeads);
        return read.thenApply(x -> e.answer());
    }

    private void list(String cluster, Replicator r) {
        String json = r instanceof ReplicationSource s ? s.windowStatusJson() : null;
        if (json == null) {
            return;
        }
        JsonNode window = SegmentStatus.tree(json);
        total += window.path("parkedTotal").asLong();
        for (JsonNode p : window.path("parked")) {
            long ledger = p.path("position").path("ledger").asLong();
            long entry = p.path("position").path("entry").asLong();
            ObjectNode n = JSON.createObjectNode().put("remote", cluster).put("position", ledger + ":" + entry)
                    .put("reason", p.path("reason").asText());
            long since = known.since(segment.getName(), cluster, ledger, entry);
            if (since > 0) {
                n.put("since", Instant.ofEpochMilli(since).toString());
            }
            found.add(n);
        }
    }

    private CompletableFuture<Void> readHeads() {
        CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
        for (ObjectNode n : found) {
            all = all.thenCompose(x -> readHead(n));
        }
        return all;
    }

    private CompletableFuture<Void> readHead(ObjectNode n) {
        String[] p = n.get("position").textValue().split(":");
        Position at = PositionFactory.create(Long.parseLong(p[0]), Long.parseLong(p[1]));
        return plugin.service(RawLog.class, RawLog::new).head(segment.getManagedLedger(), at, HEAD_BYTES)
                .handle((head, e) -> {
                    if (e == null) {
                        n.put("size", head.size()).put("head", HexFormat.of().formatHex(head.bytes()));
                    } else {
                        n.put("error", String.valueOf(FutureUtil.unwrapCompletionException(e).getMessage()));
                    }
                    return null;
                });
    }

    private String answer() {
        TopicName name = TopicName.get(segment.getName());
        ObjectNode n = JSON.createObjectNode().put("segment", name.getSegmentId()).put("parkedTotal", total);
        n.putArray("parked").addAll(found);
        return n.toString();
    }
}
