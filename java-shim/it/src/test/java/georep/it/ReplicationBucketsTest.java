// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.StampedEntries.bucket;
import static georep.it.StampedEntries.hash;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.scalable.HashRange;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Segments recorded as pip486: every entry that B stores holds keys of one bucket, recomputed from all its keys. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ReplicationBucketsTest {
    private static final int KEYS = 60;

    private SourcePair p;
    private int topics;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false, s -> s.key("georepSegmentProfile", "pip486"));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static String record(List<Integer> starts) {
        return "{\"profile\":\"pip486\",\"bucketStarts\":" + starts + ",\"cutCap\":4194304}";
    }

    /** No bucket starts, four equal buckets, four of other widths; B has as many segments as A, or twice as many. */
    @ParameterizedTest
    @CsvSource({"'',1", "'',2", "'16384,32768,49152',1", "'16384,32768,49152',2", "'100,20000,40000',1",
        "'100,20000,40000',2"})
    void storedEntriesAreOfOneBucket(String list, int segments) throws Exception {
        List<Integer> starts = list.isEmpty() ? List.of()
                : Arrays.stream(list.split(",")).map(Integer::valueOf).toList();
        String t = "topic://" + SourcePair.NS + "/buckets-" + topics++;
        p.b.admin().scalableTopics().createScalableTopic(t, segments, segments == 1
                ? Map.of("georep.segment.0", record(starts))
                : Map.of("georep.segment.0", record(starts), "georep.segment.1", record(starts)));
        p.a.admin().scalableTopics().createScalableTopic(t, 1, Map.of("georep.segment.0", record(List.of())));
        String segment = SegmentLog.segments(p.a, t).get(0);
        Rise r = new Rise(p.a, p.b, "parts", "verbatim", "rebatched");
        int n = unstamped(segment);
        n = stamped(segment, n);
        assertCopied(p.a, p.b, t);
        assertThat(StoredMessages.of(p.b, t).count(p.a.name)).isEqualTo(n);
        if (segments > 1 || !starts.isEmpty()) {
            assertThat(r.of("parts")).isPositive();
        }
        if (segments == 1) {
            assertThat(r.of("verbatim")).as("stamped batches of one key fit").isGreaterThanOrEqualTo(KEYS);
        } else {
            assertThat(r.of("verbatim")).as("A's segment is not inside one of B's").isZero();
        }
        Set<Integer> used = new HashSet<>();
        for (String s : SegmentLog.segments(p.b, t)) {
            HashRange range = TopicName.get(s).getSegmentRange().orElseThrow();
            for (StoredEntry e : SegmentLog.read(p.b, s)) {
                used.add(onlyBucket(e, range, starts));
            }
        }
        Set<Integer> expected = new HashSet<>();
        for (int k = 0; k < KEYS; k++) {
            expected.add(bucket("k" + k, starts));
        }
        assertThat(used).as("buckets used").isEqualTo(expected).hasSizeGreaterThanOrEqualTo(starts.isEmpty() ? 1 : 3);
    }

    /** Ordinary batches of many keys. */
    private int unstamped(String segment) throws Exception {
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(segment);
        c.setBatchingMaxMessages(100);
        c.setBatchingMaxPublishDelayMicros(TimeUnit.MILLISECONDS.toMicros(20));
        List<CompletableFuture<?>> sent = new ArrayList<>();
        int n = 500;
        try (Producer<byte[]> x = p.a.internalClient().createSegmentProducerAsync(c, Schema.BYTES)
                .get(20, TimeUnit.SECONDS)) {
            for (int i = 0; i < n; i++) {
                sent.add(x.newMessage().key("k" + i % KEYS)
                        .value(Publish.text(i, KEYS).getBytes(StandardCharsets.UTF_8)).sendAsync());
            }
            for (CompletableFuture<?> f : sent) {
                f.get(20, TimeUnit.SECONDS);
            }
        }
        return n;
    }

    /** Stamped batches as PIP-486 clients write them: of one key, and of all keys. */
    private int stamped(String segment, int first) throws Exception {
        int n = first;
        StampedEntries stamped = new StampedEntries(p.a, segment, "stamping", KEYS);
        for (int i = 0; i < KEYS; i++, n++) {
            stamped.send(List.of(n));
        }
        for (int i = 0; i < 3; i++, n += KEYS) {
            stamped.send(IntStream.range(n, n + KEYS).boxed().toList());
        }
        return n;
    }

    /** The bucket of all keys of an entry, which lie in the segment's range. */
    private static int onlyBucket(StoredEntry e, HashRange range, List<Integer> starts) throws Exception {
        MessageMetadata m = e.parsed();
        List<String> keys = new ArrayList<>();
        if (m.hasNumMessagesInBatch()) {
            ByteBuf payload = Unpooled.wrappedBuffer(e.payload());
            for (int i = 0; i < m.getNumMessagesInBatch(); i++) {
                SingleMessageMetadata s = new SingleMessageMetadata();
                Commands.deSerializeSingleMessageInBatch(payload, s, i, m.getNumMessagesInBatch());
                keys.add(s.getPartitionKey());
            }
        } else {
            keys.add(m.getPartitionKey());
        }
        Map<Integer, String> buckets = new HashMap<>();
        for (String k : keys) {
            assertThat(range.contains((int) (hash(k) >>> 16))).as("%s belongs to %s", k, range).isTrue();
            buckets.put(bucket(k, starts), k);
        }
        assertThat(buckets).as("buckets in entry %s", e.position()).hasSize(1);
        return buckets.keySet().iterator().next();
    }
}
