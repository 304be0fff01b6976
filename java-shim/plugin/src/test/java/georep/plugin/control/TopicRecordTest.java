// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.scalable.HashRange;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.junit.jupiter.api.Test;

class TopicRecordTest {
    private static final SegmentRecord M1 = new SegmentRecord("m1", List.of(), 4096);
    private static final SegmentRecord OWN = new SegmentRecord("pip486", List.of(100, 40000), 1024);

    private static ScalableTopicMetadata topic(long next, Map<String, String> properties, SegmentInfo... segments) {
        Map<Long, SegmentInfo> m = new LinkedHashMap<>();
        for (SegmentInfo s : segments) {
            m.put(s.segmentId(), s);
        }
        return ScalableTopicMetadata.builder().epoch(5).nextSegmentId(next).segments(m).properties(properties).build();
    }

    private static SegmentInfo active(long id, List<Long> parents) {
        return parents.isEmpty() ? SegmentInfo.active(id, HashRange.of(0, 0xffff), 0, 1)
                : SegmentInfo.active(id, HashRange.of(0, 0xffff), parents, 0, 1);
    }

    @Test
    void enablingGivesAnInstanceOnceAndAGenerationEveryTime() {
        ScalableTopicMetadata m = topic(1, Map.of("mine", "x"), active(0, List.of()));
        TopicRecord r = TopicRecord.of(m);
        assertThat(r.instance()).isNull();
        r.setRemotes(Set.of("b", "c"), 3);
        assertThat(r.instance()).matches("[0-9a-f]{32}");
        assertThat(r.remotes()).containsExactly("b", "c");
        assertThat(r.generation("b")).isEqualTo(1);
        ScalableTopicMetadata stored = r.applyTo(m);
        assertThat(stored.getEpoch()).isEqualTo(5);
        assertThat(stored.getProperties()).containsEntry("mine", "x").containsEntry("georep.remotes", "b,c")
                .containsEntry("georep.generation.b", "1");

        TopicRecord same = TopicRecord.of(stored);
        same.setRemotes(Set.of("b", "c"), 7);
        assertThat(same.changed()).isFalse();

        TopicRecord off = TopicRecord.of(stored);
        off.setRemotes(Set.of("c"), 7);
        assertThat(off.generation("b")).isEqualTo(1); // remembered
        TopicRecord on = TopicRecord.of(off.applyTo(stored));
        on.setRemotes(Set.of("b", "c"), 7);
        assertThat(on.generation("b")).isEqualTo(2);
        assertThat(r.joined("b")).isEqualTo(3);
        assertThat(off.joined("b")).as("left").isNull();
        assertThat(on.joined("b")).isEqualTo(7);
        assertThat(on.joined("c")).as("has stayed").isEqualTo(3);
        assertThat(on.generation("c")).isEqualTo(1);
        assertThat(on.instance()).isEqualTo(r.instance());
    }

    @Test
    void aGenerationIsRaisedAboveWhatIsAskedAndNeverLowered() {
        TopicRecord r = TopicRecord.of(topic(1, Map.of("georep.generation.b", "7")));
        r.raiseGeneration("b", 3);
        assertThat(r.generation("b")).isEqualTo(7);
        r.raiseGeneration("b", 7);
        assertThat(r.generation("b")).isEqualTo(8);
        assertThatThrownBy(() -> TopicRecord.of(topic(1, Map.of("georep.generation.b", "x"))).generation("b"))
                .hasMessageContaining("georep.generation.b=x");
    }

    @Test
    void segmentsKeepWhatTheyWereCreatedWith() {
        Map<String, String> p = new HashMap<>();
        p.put("georep.segment.0", OWN.json());
        p.put("georep.segment.9", M1.json());      // pruned
        p.put("georep.segment.12", M1.json());     // about to be created
        p.put("georep.segment.note", "not ours");
        ScalableTopicMetadata m = topic(12, p, active(0, List.of()), active(10, List.of(0L)), active(11, List.of(8L)));
        TopicRecord r = TopicRecord.of(m);
        r.recordSegments(m, M1);
        assertThat(r.segment(0)).isEqualTo(OWN);
        assertThat(r.segment(10)).isEqualTo(OWN);  // inherited
        assertThat(r.segment(11)).isEqualTo(M1);   // its parent is gone
        assertThat(r.segment(9)).isNull();
        assertThat(r.segment(12)).isEqualTo(M1);
        assertThat(r.applyTo(m).getProperties()).containsEntry("georep.segment.note", "not ours");
        assertThatThrownBy(() -> TopicRecord.of(topic(1, Map.of("georep.segment.0", "{"))).segment(0))
                .hasMessageContaining("georep.segment.0");
    }

    @Test
    void aPauseLastsUntilItsRemoteLeaves() {
        ScalableTopicMetadata m = topic(1, Map.of(), active(0, List.of()));
        TopicRecord r = TopicRecord.of(m);
        r.setRemotes(Set.of("b", "c"), 3);
        r.setPaused("b", true);
        r.setPaused("c", true);
        r.setPaused("c", false);
        assertThat(r.paused()).containsExactly("b");
        TopicRecord later = TopicRecord.of(r.applyTo(m));
        later.setRemotes(Set.of("b", "d"), 3);
        assertThat(later.paused()).containsExactly("b");
        later.setRemotes(Set.of("d"), 3);
        assertThat(later.paused()).isEmpty();
    }

    @Test
    void policiesWithoutTheLocalClusterDecideNothing() {
        Policies p = new Policies();
        assertThat(TopicRecords.withoutLocal(p, "a")).as("no clusters at all").isFalse();
        p.replication_clusters = Set.of("b");
        assertThat(TopicRecords.withoutLocal(p, "a")).isTrue();
        assertThat(TopicRecords.withoutLocal(p, "b")).isFalse();
        p.deleted = true;
        assertThat(TopicRecords.withoutLocal(p, "a")).as("the namespace goes").isFalse();
    }

    @Test
    void replicatedMeansTheLocalClusterAndAnother() {
        Policies p = new Policies();
        p.replication_clusters = Set.of("a");
        assertThat(TopicRecords.remotes(p, "a")).isEmpty();
        p.replication_clusters = Set.of("a", "b", "c");
        assertThat(TopicRecords.remotes(p, "a")).containsExactly("b", "c");
        assertThat(TopicRecords.remotes(p, "z")).isEmpty();
        p.deleted = true;
        assertThat(TopicRecords.remotes(p, "a")).isEmpty();
    }
}
