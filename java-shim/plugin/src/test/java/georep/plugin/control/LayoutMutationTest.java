// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.service.scalable.ScalableTopicController;
import org.apache.pulsar.broker.service.scalable.SegmentLayout;
import org.apache.pulsar.common.policies.data.AutoScalePolicyOverride;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.junit.jupiter.api.Test;

/** A mutation changes the record as the broker's own split and merge do, and only the record that it was made for. */
class LayoutMutationTest {
    private static final long NOW = 1_700_000_000_000L;

    private static LayoutMutation mutation(String json) throws Exception {
        return new LayoutMutation(new ObjectMapper().readTree(json), NOW);
    }

    private static String op(String parents, String... ranges) {
        StringBuilder children = new StringBuilder();
        for (String r : ranges) {
            String[] ends = r.split("-");
            children.append(children.isEmpty() ? "" : ",").append("{\"range\":{\"start\":")
                    .append(Integer.parseInt(ends[0], 16)).append(",\"end\":").append(Integer.parseInt(ends[1], 16))
                    .append("}}");
        }
        return "{\"parents\":[" + parents + "],\"children\":[" + children + "]}";
    }

    @Test
    void aSplitAndAMergeAreTheBrokersOwn() throws Exception {
        ScalableTopicMetadata first = ScalableTopicController.createInitialMetadata(2, Map.of("mine", "1"));
        first.setAutoScalePolicy(new AutoScalePolicyOverride());
        ScalableTopicMetadata split = mutation("{\"ops\":[" + op("\"1\"", "8000-bfff", "c000-ffff")
                + "],\"childIds\":[\"2\",\"3\"]}").applyTo(first);
        assertThat(split).isEqualTo(SegmentLayout.fromMetadata(first).splitSegment(1, NOW).toMetadata(first));
        ScalableTopicMetadata merged = mutation("{\"expectEpoch\":\"1\",\"ops\":[" + op("\"2\",\"3\"", "8000-ffff")
                + "],\"childIds\":[\"4\"]}").applyTo(split);
        assertThat(merged).isEqualTo(SegmentLayout.fromMetadata(split).mergeSegments(2, 3, NOW).toMetadata(split));
    }

    /** One epoch for all of a fold: a cut in three, and the same range with other buckets. */
    @Test
    void manyOperationsAreOneStep() throws Exception {
        ScalableTopicMetadata first = ScalableTopicController.createInitialMetadata(2, Map.of("georep.marks", "[]",
                "georep.splits", "[]"));
        LayoutMutation m = mutation("{\"ops\":[" + op("\"0\"", "0000-0fff", "1000-2fff", "3000-7fff") + ","
                + op("\"1\"", "8000-ffff") + "],\"childIds\":[\"2\",\"3\",\"4\",\"5\"],\"properties\":{"
                + "\"georep.marks\":\"\",\"georep.splits\":\"[[4096,0,32767]]\",\"georep.segment.5\":\"{}\"}}");
        assertThat(m.splits()).isTrue();
        assertThat(m.merges()).isFalse();
        assertThat(m.parents(first)).extracting(SegmentInfo::segmentId).containsExactly(0L, 1L);
        ScalableTopicMetadata next = m.applyTo(first);
        assertThat(next.getEpoch()).isEqualTo(1);
        assertThat(next.getNextSegmentId()).isEqualTo(6);
        assertThat(next.getProperties()).containsOnly(Map.entry("georep.splits", "[[4096,0,32767]]"),
                Map.entry("georep.segment.5", "{}"));
        assertThat(next.getSegments().get(0L).childIds()).isEqualTo(List.of(2L, 3L, 4L));
        assertThat(next.getSegments().get(0L).isSealed()).isTrue();
        assertThat(next.getSegments().get(5L).parentIds()).isEqualTo(List.of(1L));
        assertThat(next.getSegments().get(5L).createdAtMs()).isEqualTo(NOW);
    }

    /** Marks come and go without a new epoch: no client has to look again. */
    @Test
    void propertiesAloneKeepTheEpoch() throws Exception {
        ScalableTopicMetadata first = ScalableTopicController.createInitialMetadata(1, Map.of());
        ScalableTopicMetadata next = mutation("{\"properties\":{\"georep.marks\":\"[1]\"}}").applyTo(first);
        assertThat(next.getEpoch()).isZero();
        assertThat(next.getSegments()).isEqualTo(first.getSegments());
        assertThat(next.getProperties()).containsOnly(Map.entry("georep.marks", "[1]"));
    }

    /** What another leader has written meanwhile is not overwritten. */
    @Test
    void anotherRecordIsRefused() throws Exception {
        ScalableTopicMetadata first = ScalableTopicController.createInitialMetadata(1, Map.of());
        ScalableTopicMetadata second = SegmentLayout.fromMetadata(first).splitSegment(0, NOW).toMetadata(first);
        LayoutMutation late = mutation("{\"ops\":[" + op("\"0\"", "0000-0fff", "1000-ffff")
                + "],\"childIds\":[\"1\",\"2\"]}");
        assertThatThrownBy(() -> late.applyTo(second)).hasMessage("the layout has epoch 1, not 0");
        LayoutMutation ids = mutation("{\"ops\":[" + op("\"0\"", "0000-0fff", "1000-ffff")
                + "],\"childIds\":[\"7\",\"8\"]}");
        assertThatThrownBy(() -> ids.applyTo(first)).hasMessage("the next segment is 1, not 7");
        LayoutMutation gone = mutation("{\"expectEpoch\":\"1\",\"ops\":[" + op("\"0\"", "0000-0fff", "1000-ffff")
                + "],\"childIds\":[\"3\",\"4\"]}");
        assertThatThrownBy(() -> gone.applyTo(second)).hasMessage("segment 0 is not active");
    }

    /** A new leader has written its term, and nothing else yet: the one before it is late all the same. */
    @Test
    void aLaterLeadersRecordIsRefused() throws Exception {
        ScalableTopicMetadata led = ScalableTopicController.createInitialMetadata(1, Map.of("georep.term", "4"));
        String change = ",\"ops\":[" + op("\"0\"", "0000-0fff", "1000-ffff") + "],\"childIds\":[\"1\",\"2\"]}";
        assertThat(mutation("{\"expectTerm\":\"4\"" + change).applyTo(led).getEpoch()).isEqualTo(1);
        assertThatThrownBy(() -> mutation("{\"expectTerm\":\"3\"" + change).applyTo(led))
                .hasMessage("the topic has a leader of term 4, not 3");
        LayoutMutation mark = mutation("{\"expectTerm\":\"3\",\"properties\":{\"georep.marks\":\"[1]\"}}");
        assertThatThrownBy(() -> mark.check(led)).hasMessage("the topic has a leader of term 4, not 3");
    }
}
