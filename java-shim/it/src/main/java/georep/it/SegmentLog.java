// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.ArrayList;
import java.util.List;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;

/** Reads what is stored, from the first entry that is still there to the last. */
public final class SegmentLog {
    private SegmentLog() {
    }

    /** Every entry of one segment. */
    public static List<StoredEntry> read(Cluster c, String segmentTopic) throws Exception {
        return read(c.topic(segmentTopic).getManagedLedger());
    }

    /** Every entry of a log. */
    public static List<StoredEntry> read(ManagedLedger ledger) throws Exception {
        List<StoredEntry> all = new ArrayList<>();
        ManagedCursor cursor = ledger.newNonDurableCursor(PositionFactory.EARLIEST);
        try {
            while (cursor.hasMoreEntries()) {
                for (Entry e : cursor.readEntries(100)) {
                    try {
                        all.add(StoredEntry.of(e.getLedgerId(), e.getEntryId(), e.getDataBuffer()));
                    } finally {
                        e.release();
                    }
                }
            }
        } finally {
            ledger.deleteCursor(cursor.getName());
        }
        return all;
    }

    /** Names of a topic's segments, sealed ones too, by id; of a legacy one its persistent topic. */
    public static List<String> segments(Cluster c, String topic) throws Exception {
        TopicName tn = TopicName.get(topic);
        return c.broker.getPulsarResources().getScalableTopicResources().getScalableTopicMetadataAsync(tn, true).get()
                .orElseThrow().getSegments().values().stream()
                .sorted(java.util.Comparator.comparingLong(SegmentInfo::segmentId))
                .map(s -> s.isLegacy() ? s.legacyTopicName()
                        : SegmentTopicName.fromParent(tn, s.hashRange(), s.segmentId()).toString()).toList();
    }
}
