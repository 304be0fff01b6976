// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.it.SegmentLog;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.bookkeeper.mledger.proto.OffloadContext;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentTopicName;

/** The ledgers of a topic, as the broker that wrote them records them. */
final class Ledgers {
    /** One of them; the last of a segment is open. */
    record Ledger(long segment, long id, long entries, long bytes, boolean open, boolean offloaded, boolean deleted,
                  String uuid) {
    }

    private final Cluster cluster;
    private final String topic;

    Ledgers(Cluster cluster, String topic) {
        this.cluster = cluster;
        this.topic = topic;
    }

    /** Of all segments, each one's in order. */
    List<Ledger> all() throws Exception {
        List<Ledger> found = new ArrayList<>();
        for (String segment : SegmentLog.segments(cluster, topic)) {
            found.addAll(of(segment));
        }
        return found;
    }

    private List<Ledger> of(String segment) throws Exception {
        long id = SegmentTopicName.getSegmentId(TopicName.get(segment));
        List<LedgerInfo> infos = new ArrayList<>(log(segment).getLedgersInfo().values());
        List<Ledger> found = new ArrayList<>();
        for (LedgerInfo g : infos) {
            boolean offloaded = g.hasOffloadContext() && g.getOffloadContext().isComplete();
            OffloadContext o = g.getOffloadContext();
            found.add(new Ledger(id, g.getLedgerId(), g.getEntries(), g.getSize(), g == infos.get(infos.size() - 1),
                    offloaded, offloaded && o.isBookkeeperDeleted(),
                    offloaded ? new UUID(o.getUidMsb(), o.getUidLsb()).toString() : ""));
        }
        return found;
    }

    /** What KIP-1023's rule leaves out: of each segment the closed ledgers before the first that is not offloaded. */
    static List<Ledger> leftOut(List<Ledger> all) {
        List<Ledger> out = new ArrayList<>();
        long ended = -1;
        for (Ledger g : all) {
            if (g.segment() == ended) {
                continue;
            }
            if (g.open() || g.entries() > 0 && !g.offloaded()) {
                ended = g.segment();
            } else if (g.entries() > 0) {
                out.add(g);
            }
        }
        return out;
    }

    /**
     * Of each segment the older half of the closed ledgers is offloaded and then deleted from bookkeeper, of the rest
     * all but the youngest is offloaded.
     */
    void offload() throws Exception {
        for (String segment : SegmentLog.segments(cluster, topic)) {
            List<Ledger> closed = of(segment).stream().filter(g -> !g.open()).toList();
            if (closed.size() < 4) {
                throw new IllegalStateException(segment + " has only " + closed.size() + " closed ledgers");
            }
            ManagedLedger log = log(segment);
            log.offloadPrefix(PositionFactory.create(closed.get(closed.size() / 2).id(), 0));
            CompletableFuture<Void> trimmed = new CompletableFuture<>();
            log.trimConsumedLedgersInBackground(trimmed);
            trimmed.get(1, TimeUnit.MINUTES);
            log.offloadPrefix(PositionFactory.create(closed.get(closed.size() - 1).id(), 0));
        }
    }

    private ManagedLedger log(String segment) throws Exception {
        return cluster.segment(segment).getManagedLedger();
    }
}
