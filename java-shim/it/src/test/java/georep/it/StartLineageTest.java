// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Starts of topics whose layout has changed in what is skipped, and after. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StartLineageTest {
    private StartPair p;

    @BeforeAll
    void start() throws Exception {
        p = new StartPair();
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private void assertArrivedInOrder(String topic, Set<Integer> numbers) throws Exception {
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            assertThat(new TreeSet<>(p.numbers(topic))).as("status %s", SourcePair.status(p.a, topic))
                    .isEqualTo(numbers);
            assertThat(SourcePair.backlogs(p.a, topic, p.b.name)).containsOnly(0L);
        });
        StoredMessages.Difference d = StoredMessages.compare(StoredMessages.of(p.a, topic),
                StoredMessages.of(p.b, topic), p.a.name);
        assertThat(d.disorder()).as("order per key").isEmpty();
        assertThat(d.duplicates()).isZero();
    }

    /**
     * A cut through all segments: 0 is skipped whole, with the split, 1 and 2 in part, 3, the merged one, is sent. What
     * is skipped whole counts as drained, or its children would wait for ever.
     *
     * <pre>
     *   0 -+- 1 -+- 3
     *      `- 2 -'
     * </pre>
     */
    @Test
    void aCutThroughSplitAndMerge() throws Exception {
        String topic = p.topic();
        OffloadedLog root = OffloadedLog.of(p.a, topic, 0);
        root.publish(20);
        root.offload(2);
        root.deleteFromBookies();
        p.a.admin().scalableTopics().splitSegment(topic, 0);
        root.publish(20); // to both children
        TimeUnit.MILLISECONDS.sleep(5); // publish times are milliseconds
        long then = System.currentTimeMillis();
        root.publish(20);
        p.a.controller(topic).mergeSegments(id(active(p.a, topic, 0)), id(active(p.a, topic, 0xffff))).get();
        root.publish(10);
        p.startAt(topic, String.valueOf(then));
        long readsBefore = p.tier.reads();
        p.join(topic);
        JsonNode whole = p.placed(topic, 0);
        assertThat(whole.path("whole").asBoolean()).isTrue();
        assertThat(whole.path("entries").asLong()).isEqualTo(20);
        long inChildren = p.placed(topic, 1).path("entries").asLong() + p.placed(topic, 2).path("entries").asLong();
        assertThat(inChildren).isEqualTo(20);
        assertThat(p.placed(topic, 3).path("entries").asLong()).isZero();
        List<Long> lineage = new ArrayList<>();
        p.placed(topic, 3).path("lineage").forEach(s -> lineage.add(s.path("id").asLong()));
        assertThat(lineage).containsExactlyInAnyOrder(0L, 1L, 2L);
        p.assertArrived(topic, 40, 70);
        assertThat(p.tier.reads()).as("reads of the skipped ledgers").isEqualTo(readsBefore);
        assertArrivedInOrder(topic, new TreeSet<>(IntStream.range(40, 70).boxed().toList())); // reads all of A's log
    }

    /** "latest" holds for what is there when the remote joins; segments that are made later are sent whole. */
    @Test
    void aSplitAfterTheStart() throws Exception {
        String topic = p.topic();
        OffloadedLog root = OffloadedLog.of(p.a, topic, 0);
        root.publish(11);
        p.startAt(topic, "latest");
        p.join(topic);
        assertThat(p.placed(topic, 0).path("entries").asLong()).isEqualTo(11);
        p.a.admin().scalableTopics().splitSegment(topic, 0);
        root.publish(16);
        p.a.move(StartPair.namespace(topic), p.a.broker);
        root.publish(16);
        assertArrivedInOrder(topic, new TreeSet<>(IntStream.range(11, 43).boxed().toList()));
        for (long child : new long[]{1, 2}) {
            assertThat(p.placed(topic, child).path("entries").asLong()).isZero();
        }
    }

    /** Sending a parent again behind children that have sent already would break the order of its keys. */
    @Test
    void aParentAloneDoesNotBeginAnew() throws Exception {
        String topic = p.topic();
        OffloadedLog root = OffloadedLog.of(p.a, topic, 0);
        root.publish(9);
        p.join(topic);
        p.assertArrived(topic, 0, 9);
        p.a.admin().scalableTopics().splitSegment(topic, 0);
        root.publish(16);
        assertArrivedInOrder(topic, new TreeSet<>(IntStream.range(0, 25).boxed().toList()));
        Http.Answer alone = p.call(topic, "reset-cursor",
                "{\"remote\":\"cluster-b\",\"to\":\"earliest\",\"segments\":[0]}");
        assertThat(alone.status()).as(alone.body()).isEqualTo(409);
        assertThat(alone.body()).contains("0, 1, 2");
        Http.Answer all = p.call(topic, "reset-cursor", "{\"remote\":\"cluster-b\",\"to\":\"earliest\"}");
        assertThat(all.status()).as(all.body()).isEqualTo(200);
        assertThat(all.json().path("total").path("againEntries").asLong()).isEqualTo(25);
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() ->
                assertThat(p.numbers(topic)).as("status %s", SourcePair.status(p.a, topic)).hasSize(50));
        for (int key = 0; key < 8; key++) {
            int k = key;
            List<Integer> twice = StoredMessages.of(p.b, topic).from(p.a.name).stream()
                    .filter(m -> m.key().equals("k" + k)).map(StoredMessages.Message::number).toList();
            List<Integer> once = IntStream.range(0, 25).filter(n -> n % 8 == k).boxed().toList();
            assertThat(twice.subList(once.size(), twice.size())).as("%s again, in order", k).isEqualTo(once);
        }
    }
}
