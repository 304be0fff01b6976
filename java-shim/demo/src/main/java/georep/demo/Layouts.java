// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import java.util.Comparator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.pulsar.common.policies.data.ScalableTopicMetadata.SegmentInfo;

/** The active segments of a topic, as Pulsar's admin tells them. */
final class Layouts {
    private Layouts() {
    }

    private static Stream<SegmentInfo> active(Cluster c, String topic) throws Exception {
        return c.admin().scalableTopics().getMetadata(topic).getSegments().values().stream()
                .filter(SegmentInfo::isActive)
                .sorted(Comparator.comparingInt(s -> s.getHashRange().getStart()));
    }

    /** {@code 0000|4000|8000}: where the active segments start. */
    static String text(Cluster c, String topic) throws Exception {
        return active(c, topic).map(s -> "%04x".formatted(s.getHashRange().getStart()))
                .collect(Collectors.joining("|"));
    }

    /** The active segment that holds a hash. */
    static long at(Cluster c, String topic, int hash) throws Exception {
        return active(c, topic).filter(s -> s.getHashRange().getStart() <= hash && hash <= s.getHashRange().getEnd())
                .findFirst().orElseThrow().getSegmentId();
    }
}
