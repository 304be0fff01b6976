// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.Comparator;
import java.util.List;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;

/** Layouts of a topic as a cluster's store has them. */
final class Layouts {
    private Layouts() {
    }

    static ScalableTopicMetadata stored(Cluster c, String topic) throws Exception {
        return c.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow();
    }

    /** Starts of the active segments, rising. */
    static List<Integer> starts(Cluster c, String topic) throws Exception {
        return stored(c, topic).getSegments().values().stream().filter(SegmentInfo::isActive)
                .map(s -> s.hashRange().start()).sorted().toList();
    }

    /** Sealed segments. */
    static List<SegmentInfo> sealed(Cluster c, String topic) throws Exception {
        return stored(c, topic).getSegments().values().stream().filter(SegmentInfo::isSealed)
                .sorted(Comparator.comparingLong(SegmentInfo::segmentId)).toList();
    }

    /** Segments that a merge has made. */
    static List<SegmentInfo> merged(Cluster c, String topic) throws Exception {
        return stored(c, topic).getSegments().values().stream().filter(s -> s.parentIds().size() > 1).toList();
    }

    /** Of the last leader that has begun. */
    static long term(Cluster c, String topic) throws Exception {
        return Long.parseLong(stored(c, topic).getProperties().get("georep.term"));
    }
}
