// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.plugin.control.SegmentRecord;
import georep.plugin.control.TopicRecord;
import georep.plugin.source.SourceIdentity;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.service.scalable.SegmentLayout;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.metadata.api.Notification;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the controller leader writes into the topic's record, and when. */
class ControllerRecordTest {
    private static Cluster a;
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        a = ClusterSpec.named("cluster-a").apart().start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").apart().start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    @AfterAll
    static void stop() throws Exception {
        a.close();
        b.close();
    }

    private static ScalableTopicMetadata stored(String topic) throws Exception {
        return a.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow();
    }

    private static TopicRecord record(String topic) throws Exception {
        return TopicRecord.of(stored(topic));
    }

    private static List<String> subscriptions(String topic) throws Exception {
        return a.broker.getPulsarResources().getScalableTopicResources()
                .listSubscriptionsAsync(TopicName.get(topic)).get();
    }

    private static SourceIdentity identity(String segment) throws Exception {
        return a.segment(segment).sourceIdentity("cluster-b").get(20, TimeUnit.SECONDS);
    }

    @Test
    void aTopicThatDoesNotReplicateIsLeftAlone() throws Exception {
        Federation.create("t/alone", a);
        String topic = "topic://t/alone/x";
        a.admin().scalableTopics().createScalableTopic(topic, 1, Map.of("mine", "1"));
        a.admin().scalableTopics().splitSegment(topic, 0);
        a.controller(topic).collectGarbage().get();
        assertThat(stored(topic).getProperties()).containsExactly(Map.entry("mine", "1"));
        assertThat(subscriptions(topic)).isEmpty();
    }

    @Test
    void replicationOffAndOnRaisesTheGeneration() throws Exception {
        Federation.of("t/gen", a, b);
        String topic = "topic://t/gen/x";
        Federation.topic(topic, 1, a, b);
        String segment = "segment://t/gen/x/0000-ffff-0";
        SourceIdentity first = identity(segment);
        assertThat(first.instance()).matches("[0-9a-f]{32}");
        assertThat(first.generation()).isEqualTo(1);
        assertThat(first.profile()).isEqualTo("m1");
        assertThat(first.cutCap()).isEqualTo(4 << 20);
        assertThat(record(topic).remotes()).containsExactly("cluster-b");
        assertThat(record(topic).segment(0)).isEqualTo(new SegmentRecord("m1", List.of(), 4 << 20));
        assertThat(record(topic).term()).isEqualTo(1);
        assertThat(subscriptions(topic)).containsExactly("pulsar.repl.cluster-b");

        Federation.stop(a, "t/gen");
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            assertThat(record(topic).remotes()).isEmpty();
            assertThat(subscriptions(topic)).isEmpty();
            assertThat(a.segment(segment).getReplicators()).isEmpty();
        });
        Federation.replicate(a, "t/gen", Set.of("cluster-a", "cluster-b"));
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                assertThat(a.segment(segment).getReplicators()).containsKey("cluster-b"));
        SourceIdentity second = identity(segment);
        assertThat(second.instance()).isEqualTo(first.instance());
        assertThat(second.generation()).isEqualTo(2);
        assertThat(record(topic).generation("cluster-b")).isEqualTo(2);
    }

    @Test
    void aNewCursorNeverReusesAGeneration() throws Exception {
        Federation.of("t/cursor", a, b);
        String topic = "topic://t/cursor/x";
        Federation.topic(topic, 1, a, b);
        String segment = "segment://t/cursor/x/0000-ffff-0";
        assertThat(identity(segment).generation()).isEqualTo(1);
        a.admin().namespaces().unload("t/cursor");
        assertThat(identity(segment).generation()).isEqualTo(1); // the same cursor
        // off and on so quickly that no leader sees the gap: only the cursor is new
        a.segment(segment).getReplicators().get("cluster-b").terminate().get();
        a.segment(segment).getManagedLedger().deleteCursor("pulsar.repl.cluster-b");
        a.admin().namespaces().unload("t/cursor");
        assertThat(identity(segment).generation()).isEqualTo(2);
    }

    /** A leader died after it had sealed a segment and before it wrote the layout: nobody could publish there. */
    @Test
    void aSplitThatWasNotFinishedIsFinished() throws Exception {
        Federation.of("t/begun", a, b);
        String topic = "topic://t/begun/x";
        Federation.topic(topic, 1, a, b);
        Publish.v5(a, topic, 0, 100, 10);
        a.admin().scalableTopics().terminateSegmentAsync("segment://t/begun/x/0000-ffff-0").get(20, TimeUnit.SECONDS);
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            a.controller(topic).collectGarbage().get();
            assertThat(Layouts.starts(a, topic)).containsExactly(0, 0x8000);
        });
        Publish.v5(a, topic, 100, 200, 10);
        SourcePair.assertCopied(a, b, topic);
        assertThat(Layouts.sealed(a, topic)).as("split once").hasSize(1);
    }

    @Test
    void childrenInheritTheRecordAndAreKnownBeforeTheyAreWrittenTo() throws Exception {
        Federation.of("t/split", a, b);
        String topic = "topic://t/split/x";
        a.admin().scalableTopics().createScalableTopic(topic, 1, Map.of("georep.segment.0",
                "{\"profile\":\"pip486\",\"bucketStarts\":[16384,40000],\"cutCap\":65536}"));
        b.admin().scalableTopics().createScalableTopic(topic, 1);
        SegmentRecord own = new SegmentRecord("pip486", List.of(16384, 40000), 65536);
        assertThat(identity("segment://t/split/x/0000-ffff-0").profile()).isEqualTo("pip486");
        a.admin().scalableTopics().splitSegment(topic, 0);
        assertThat(record(topic).segment(1)).isEqualTo(own);
        assertThat(record(topic).segment(2)).isEqualTo(own);
        a.admin().scalableTopics().mergeSegments(topic, 1, 2);
        assertThat(record(topic).segment(3)).isEqualTo(own);
        assertThat(stored(topic).getSegments().keySet()).containsExactlyInAnyOrder(0L, 1L, 2L, 3L);
        assertThat(identity("segment://t/split/x/0000-ffff-3").bucketStarts()).containsExactly(16384, 40000);
    }

    @Test
    void anOutsideChangeOfTheRecordIsTakenOverBeforeASplit() throws Exception {
        Federation.of("t/outside", a, b);
        String topic = "topic://t/outside/x";
        Federation.topic(topic, 2, a, b);
        var controller = a.controller(topic);
        // somebody else, an earlier leader for one, splits segment 0
        var records = a.plugin().records();
        for (String s : List.of("segment://t/outside/x/0000-3fff-2", "segment://t/outside/x/4000-7fff-3")) {
            a.admin().scalableTopics().createSegment(s, List.of());
        }
        a.admin().scalableTopics().terminateSegment("segment://t/outside/x/0000-7fff-0");
        records.resources().updateScalableTopicAsync(TopicName.get(topic), m ->
                SegmentLayout.fromMetadata(m).splitSegment(0, System.currentTimeMillis()).toMetadata(m)).get();
        controller.splitSegment(1).get();
        assertThat(SegmentLog.segments(a, topic)).containsExactly("segment://t/outside/x/0000-7fff-0",
                "segment://t/outside/x/8000-ffff-1", "segment://t/outside/x/0000-3fff-2",
                "segment://t/outside/x/4000-7fff-3", "segment://t/outside/x/8000-bfff-4",
                "segment://t/outside/x/c000-ffff-5");
        for (String s : SegmentLog.segments(a, topic)) {
            assertThat(a.broker.getBrokerService().getTopicIfExists(s).get()).as(s).isPresent();
        }
    }

    @Test
    void twoLeadersAtOnceLeaveNoSegmentWithoutATopic() throws Exception {
        Federation.of("t/leaders", a, b);
        String topic = "topic://t/leaders/x";
        TopicName tn = TopicName.get(topic);
        Federation.topic(topic, 2, a, b);
        var controller = a.controller(topic);
        var resources = a.plugin().records().resources();
        String path = resources.topicPath(tn);
        // the other leader's split of segment 0 gets in once this one has decided which ids its children will have
        AtomicBoolean done = new AtomicBoolean();
        resources.registerPathListener(new ScalableTopicResources.MetadataPathListener() {
            @Override
            public String getMetadataPath() {
                return path;
            }

            @Override
            public void onNotification(Notification n) {
                if (done.compareAndSet(false, true)) {
                    resources.updateScalableTopicAsync(tn, m -> SegmentLayout.fromMetadata(m).splitSegment(0,
                            System.currentTimeMillis()).toMetadata(m));
                }
            }
        });
        controller.splitSegment(1).get();
        assertThat(done).isTrue();
        assertThat(stored(topic).getNextSegmentId()).isEqualTo(6);
        assertThat(SegmentLog.segments(a, topic)).contains("segment://t/leaders/x/8000-bfff-4",
                "segment://t/leaders/x/c000-ffff-5");
        for (String s : SegmentLog.segments(a, topic)) {
            assertThat(a.broker.getBrokerService().getTopicIfExists(s).get()).as(s).isPresent();
        }
        assertThat(record(topic).segment(4)).isEqualTo(new SegmentRecord("m1", List.of(), 4 << 20));
    }
}
