// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.source.ReplicationSource;
import georep.plugin.source.ReplicationStatus;
import georep.plugin.source.SourceBroker;
import java.io.IOException;
import org.apache.pulsar.broker.service.AbstractReplicator;
import org.apache.pulsar.broker.service.Replicator;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** What one loaded segment says of its replication, as a source and as a destination. */
final class SegmentStatus {
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();

    private SegmentStatus() {
    }

    static ObjectNode of(ReplicatedSegmentTopic t) {
        ObjectNode n = JSON.createObjectNode().put("segment", t.getName())
                .put("sealed", t.getManagedLedger().isTerminated())
                .put("broker", t.getBrokerService().getPulsar().getBrokerId());
        ObjectNode remotes = n.putObject("remotes");
        t.getReplicators().forEach((cluster, r) -> {
            ObjectNode one = remote(t, r);
            remotes.set(cluster, one);
            ObjectNode start = t.startStatus(cluster);
            if (start != null) {
                if (start.path("plan") instanceof ObjectNode plan) {
                    plan.remove("skipped"); // thousands of ledgers, perhaps: they have a call of their own
                }
                one.set("bootstrap", start);
            }
            if (t.cursorLost(cluster) != null) {
                one.put("cursorLost", t.cursorLost(cluster));
            }
        });
        n.set("budget", SourceBroker.of(t.getBrokerService().getPulsar()).status().budget());
        ObjectNode undrained = n.putObject(ReplicationStatus.UNDRAINED);
        t.replicationClusters().forEach(cluster -> undrained.put(cluster, t.undrained(cluster)));
        if (!t.receiveTrouble().isEmpty()) {
            n.put("receiveTrouble", t.receiveTrouble());
        }
        String dedup = t.dedupStatusJson();
        if (dedup != null) {
            n.set("received", tree(dedup));
        }
        return n;
    }

    private static ObjectNode remote(ReplicatedSegmentTopic t, Replicator r) {
        ObjectNode n = r instanceof ReplicationStatus.Replicator own
                ? SourceBroker.of(t.getBrokerService().getPulsar()).status().one(own) : JSON.createObjectNode();
        if (r instanceof AbstractReplicator a) {
            n.put("replicator", a.getState().name());
        }
        if (r instanceof ReplicationSource s) {
            n.put("gateOpen", s.gateOpen());
        }
        return n;
    }

    static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            return JSON.getNodeFactory().textNode(json);
        }
    }
}
