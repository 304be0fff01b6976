// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.id;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.source.ReplicationSource;
import georep.plugin.source.ReplicationStatus;
import georep.plugin.source.SourceBroker;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Parked entries of sealed segments, where the policy lets others pass: what their children do. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceParkedTest {
    private static final byte[] NO_EXTRA = {};
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.start(false, s -> s.key("georepParkedPolicy", "pass"));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static MessageMetadata keyed(int i) {
        return new MessageMetadata().setProducerName("app").setSequenceId(i)
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + i);
    }

    private void send(String segment, MessageMetadata m) throws Exception {
        new SourceRawProducer(p.a, segment, "raw").send(m, NO_EXTRA,
                Unpooled.wrappedBuffer(("k#" + m.getSequenceId()).getBytes(StandardCharsets.UTF_8)));
    }

    private List<Long> arrived(String topic) throws Exception {
        List<Long> all = new ArrayList<>();
        for (String s : SegmentLog.segments(p.b, topic)) {
            SegmentLog.read(p.b, s).forEach(e -> all.add(e.parsed().getSequenceId()));
        }
        return all;
    }

    private void awaitArrived(String topic, Long... sequences) {
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(arrived(topic))
                .as("status %s", status(p.a, topic)).containsExactlyInAnyOrder(sequences));
    }

    private JsonNode segment(String topic, String segment) {
        for (JsonNode n : status(p.a, topic)) {
            if (n.path("segmentTopic").asText().equals(segment)) {
                return n;
            }
        }
        throw new AssertionError(segment + " is not in " + status(p.a, topic));
    }

    @Test
    void aChunkedMessageThatItsSegmentsSealCutsOffIsParked() throws Exception {
        String t = p.topic("cut-off", 1, 1);
        String root = SegmentLog.segments(p.a, t).get(0);
        send(root, keyed(0).setUuid("u").setNumChunksFromMsg(3).setTotalChunkMsgSize(9).setChunkId(0));
        awaitArrived(t, 0L);
        assertThat(segment(t, root).path("window").path("openUnits").asLong()).isEqualTo(1);

        p.a.admin().scalableTopics().splitSegment(t, id(root));
        String child = active(p.a, t, 0);
        send(child, keyed(1));
        JsonNode[] s = new JsonNode[1];
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            s[0] = segment(t, root).path("window");
            assertThat(s[0].path("parkedTotal").asLong()).as("%s", s[0]).isEqualTo(1);
        });
        JsonNode parked = s[0].path("parked").get(0);
        assertThat(parked.path("reason").asText()).isEqualTo("chunk-incomplete");
        assertThat(s[0].has("passedTotal")).as("nothing passes it").isFalse();
        assertThat(arrived(t)).as("nor does the child").containsExactly(0L);

        ((ReplicationSource) p.a.segment(root).getReplicators().get(p.b.name)).skip(
                parked.path("position").path("ledger").asLong(), parked.path("position").path("entry").asLong())
                .get(10, TimeUnit.SECONDS);
        awaitArrived(t, 0L, 1L);
    }

    @Test
    void aPassedEntryPinsItsSegmentAndDoesNotHoldBackTheChildren() throws Exception {
        String t = p.topic("passed", 1, 1);
        String root = SegmentLog.segments(p.a, t).get(0);
        send(root, keyed(0));
        new SourceRawProducer(p.a, root, "raw").send(Unpooled.wrappedBuffer(HexFormat.of().parseHex(
                "0e01000000000000000affffffffffffffffffff" + "aabb")));
        send(root, keyed(1));
        awaitArrived(t, 0L, 1L);
        p.a.admin().scalableTopics().splitSegment(t, id(root));
        String child = active(p.a, t, 0);
        send(child, keyed(2));
        awaitArrived(t, 0L, 1L, 2L);

        JsonNode s = segment(t, root);
        assertThat(s.path("backlog").asLong()).isEqualTo(1);
        assertThat(s.path("window").path("passedTotal").asLong()).isEqualTo(1);
        String whole = SourceBroker.of(p.a.broker).segmentStatus(TopicName.get(root)).get(10, TimeUnit.SECONDS);
        assertThat(ReplicationStatus.undrained(whole, p.b.name)).as("as another broker asks").isZero();
        assertThat(ReplicationStatus.undrained(whole, "elsewhere")).isNull();
        assertThat(p.a.segment(root).getSubscription("pulsar.repl." + p.b.name).getNumberOfEntriesInBacklog(true))
                .as("what the garbage collector sees").isEqualTo(1);
    }
}
