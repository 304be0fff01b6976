// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Chunked messages: one unit, in whatever order, number and company their chunks were written. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class KindChunksTest {
    private static final int CHUNKS = 3;
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private SourceRawProducer raw(String segment) throws Exception {
        return new SourceRawProducer(p.a, segment, "raw");
    }

    /** Chunk number i of the message "name-0|name-1|name-2|". */
    private static void chunk(SourceRawProducer raw, String name, int i) throws Exception {
        MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(1)
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("key of " + name).setUuid("uuid-" + name)
                .setNumChunksFromMsg(CHUNKS).setTotalChunkMsgSize(CHUNKS * part(name, 0).length()).setChunkId(i);
        raw.send(m, new byte[0], Unpooled.wrappedBuffer(part(name, i).getBytes(StandardCharsets.UTF_8)));
    }

    private static String part(String name, int i) {
        return name + "-" + i + "|";
    }

    private static String whole(String name) {
        return part(name, 0) + part(name, 1) + part(name, 2);
    }

    private static void single(SourceRawProducer raw, String key, String text) throws Exception {
        raw.send(new MessageMetadata().setProducerName("app").setSequenceId(1).setPartitionKey(key)
                .setPublishTime(System.currentTimeMillis()), new byte[0],
                Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void interleavedMessages() throws Exception {
        String t = p.topic("interleaved", 1, 4);
        Rise r = new Rise(p.a, p.b, "single", "unitsDissolved");
        SourceRawProducer raw = raw(SegmentLog.segments(p.a, t).get(0));
        List<String> names = List.of("alpha", "beta", "gamma", "delta", "omega");
        for (int i = 0; i < CHUNKS; i++) {
            for (String n : names) {
                chunk(raw, n, i);
            }
            single(raw, "k" + i, "between");
        }
        await(p.a, p.b, t, Kinds.SOON, names.size() * CHUNKS + 3);
        Set<String> used = new HashSet<>();
        for (String s : SegmentLog.segments(p.b, t)) {
            List<String> here = Kinds.payloads(SegmentLog.read(p.b, s));
            for (String n : names) {
                if (here.contains(part(n, 0))) {
                    assertThat(here).containsSubsequence(part(n, 0), part(n, 1), part(n, 2));
                    used.add(s);
                }
            }
        }
        assertThat(used).as("segments that hold chunks").hasSizeGreaterThan(1);
        assertThat(Kinds.read(p.b, t, names.size() + 3, null)).containsAll(names.stream().map(KindChunksTest::whole)
                .toList()).contains("between");
        assertThat(r.of("single")).isEqualTo(names.size() * CHUNKS + 3);
        assertThat(r.of("unitsDissolved")).isZero();
    }

    /** A client that lost its connection sends a message again, from its first chunk or from a later one. */
    @Test
    void repeatedChunks() throws Exception {
        String t = p.topic("repeated", 1, 2);
        Rise r = new Rise(p.a, p.b, "single", "unitsDissolved");
        SourceRawProducer raw = raw(SegmentLog.segments(p.a, t).get(0));
        for (int i : new int[]{0, 1, 0, 1, 2}) {
            chunk(raw, "anew", i);
        }
        for (int i : new int[]{0, 1, 1, 2}) {
            chunk(raw, "again", i);
        }
        for (int i = 0; i < CHUNKS; i++) {
            chunk(raw, "anew", i);
        }
        await(p.a, p.b, t, Kinds.SOON, 12);
        assertThat(Kinds.payloads(Kinds.stored(p.b, t)).stream().filter(x -> x.startsWith("anew")))
                .containsExactly("anew-0|", "anew-1|", "anew-0|", "anew-1|", "anew-2|",
                        "anew-0|", "anew-1|", "anew-2|");
        assertThat(Kinds.payloads(Kinds.stored(p.b, t)).stream().filter(x -> x.startsWith("again")))
                .containsExactly("again-0|", "again-1|", "again-1|", "again-2|");
        assertThat(Kinds.read(p.b, t, 3, null)).containsExactlyInAnyOrderElementsOf(Kinds.read(p.a, t, 3, null))
                .containsExactlyInAnyOrder(whole("anew"), whole("anew"), whole("again"));
        assertThat(r.of("unitsDissolved")).isEqualTo(1);
        assertThat(r.of("single")).isEqualTo(12);
    }

    /** B seals the segment that has the first chunks: all of them go to the successor, or nobody could join them. */
    @Test
    void aSealBetweenChunks() throws Exception {
        String t = p.topic("sealed-between", 1, 1);
        Rise r = new Rise(p.a, p.b, "single", "unitsResent");
        SourceRawProducer raw = raw(SegmentLog.segments(p.a, t).get(0));
        String before = SegmentLog.segments(p.b, t).get(0);
        chunk(raw, "long", 0);
        chunk(raw, "long", 1);
        Awaitility.await().atMost(Kinds.SOON).until(() -> SegmentLog.read(p.b, before).size() == 2);
        p.b.admin().scalableTopics().splitSegment(t, 0);
        chunk(raw, "long", 2);
        single(raw, "key of long", "after");
        await(p.a, p.b, t, Kinds.SOON, 6);
        List<List<String>> logs = new ArrayList<>();
        for (String s : SegmentLog.segments(p.b, t)) {
            logs.add(Kinds.payloads(SegmentLog.read(p.b, s)));
        }
        assertThat(logs).containsExactlyInAnyOrder(List.of("long-0|", "long-1|"),
                List.of("long-0|", "long-1|", "long-2|", "after"), List.of());
        assertThat(r.of("unitsResent")).isEqualTo(1);
    }

    /** A consumer gives up the chunks in the sealed segment after a minute of its own, and reads on. */
    @Test
    @Tag("slow")
    @Timeout(value = 300, unit = TimeUnit.SECONDS)
    void aConsumerReadsOnAfterASealBetweenChunks() throws Exception {
        String t = p.topic("sealed-consumer", 1, 1);
        SourceRawProducer raw = raw(SegmentLog.segments(p.a, t).get(0));
        String before = SegmentLog.segments(p.b, t).get(0);
        chunk(raw, "long", 0);
        Awaitility.await().atMost(Kinds.SOON).until(() -> SegmentLog.read(p.b, before).size() == 1);
        p.b.admin().scalableTopics().splitSegment(t, 0);
        chunk(raw, "long", 1);
        chunk(raw, "long", 2);
        single(raw, "key of long", "after");
        await(p.a, p.b, t, Kinds.SOON, 5);
        assertThat(Kinds.read(p.b, t, 2, null, Duration.ofMinutes(3))).containsExactly(whole("long"), "after");
    }

    /**
     * A message whose last chunk never comes holds back nothing of its segment; when the segment is sealed it is
     * parked, and holds back the segment's children until an operator gives it up.
     */
    @Test
    void theLastChunkIsMissing() throws Exception {
        String t = p.topic("missing", 1, 2);
        Rise r = new Rise(p.a, p.b, "single", "parked", "skipped");
        String segment = SegmentLog.segments(p.a, t).get(0);
        SourceRawProducer raw = raw(segment);
        chunk(raw, "torn", 0);
        single(raw, "k", "between");
        chunk(raw, "torn", 1);
        single(raw, "k", "after");
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> assertThat(Kinds.payloads(Kinds.stored(p.b, t)))
                .containsExactlyInAnyOrder("torn-0|", "between", "torn-1|", "after"));
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> assertThat(SourcePair.backlogs(p.a, t, p.b.name))
                .as("the chunks stay behind the cursor").containsExactly(2L));
        assertThat(r.of("parked")).isZero();
        p.a.admin().scalableTopics().splitSegment(t, 0);
        List<long[]> parked = Kinds.awaitParked(p.a, t, segment, 2, "chunk-incomplete");
        String child = SourcePair.active(p.a, t, 0);
        single(raw(child), "k", "child");
        assertThat(SourcePair.status(p.a, t).toString()).as("gate of the child").contains("\"starting\"");
        assertThat(Kinds.payloads(Kinds.stored(p.b, t))).doesNotContain("child");
        Kinds.skip(p.a, segment, p.b.name, parked);
        await(p.a, p.b, t, Kinds.SOON, 5);
        assertThat(Kinds.read(p.b, t, 3, null)).containsExactly("between", "after", "child");
        assertThat(r.of("parked")).isEqualTo(2);
        assertThat(r.of("skipped")).isEqualTo(2);
    }
}
