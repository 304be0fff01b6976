// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.it.OriginSession.Stream;
import georep.plugin.dest.OriginKey;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.impl.StampingProducer;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What was stored once is recognised for ever: after an unload, a crash, a trim, with the policy on and off. */
class DedupReloadTest {
    private static final String NS = "t/dedup";
    private static final String TOPIC = "topic://t/dedup/x";
    private static final String SEGMENT = "segment://t/dedup/x/0000-ffff-0";
    private static final Stream ORIGIN = new Stream("cluster-z", "00ff", 7, 1);

    private Cluster b;

    private void start(boolean policy) throws Exception {
        b = ClusterSpec.named("cluster-b").dedup(policy).key("georepDedupSnapshotEntries", 4)
                .with(c -> c.setBrokerDeduplicationEntriesInterval(4)).start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create(NS, b);
        Federation.topic(TOPIC, 1, b);
    }

    @AfterEach
    void stop() throws Exception {
        b.close();
    }

    private List<String> stored() throws Exception {
        return SegmentLog.read(b, SEGMENT).stream().map(e -> new String(e.payload(), StandardCharsets.UTF_8)).toList();
    }

    private void firstRound() throws Exception {
        rounds(List.of());
    }

    private void rounds(List<String> before) throws Exception {
        try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
            for (String p : List.of("5:0", "5:1:0", "5:1:2", "6:0:1", "6:0:4", "6:1")) {
                assertThat(s.send(p, p)).as(p).isEqualTo(Outcome.ACKED);
            }
            // an equal and a lower position are duplicates; a whole entry is above all of its parts
            for (String p : List.of("6:1", "6:1:3", "6:0:4", "5:1:1", "5:0")) {
                assertThat(s.send(p, "again " + p)).as(p).isEqualTo(Outcome.DUPLICATE);
            }
        }
        List<String> all = new ArrayList<>(before);
        all.addAll(List.of("5:0", "5:1:0", "5:1:2", "6:0:1", "6:0:4", "6:1"));
        assertThat(stored()).isEqualTo(all);
    }

    private void secondRound() throws Exception {
        try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
            for (String p : List.of("5:0", "6:0:4", "6:1")) {
                assertThat(s.send(p, "again " + p)).as(p).isEqualTo(Outcome.DUPLICATE);
            }
            assertThat(s.send("6:2", "6:2")).isEqualTo(Outcome.ACKED);
        }
        assertThat(stored()).containsExactly("5:0", "5:1:0", "5:1:2", "6:0:1", "6:0:4", "6:1", "6:2");
        // another generation of the same stream is another stream
        try (OriginSession s = OriginSession.open(b, SEGMENT, new Stream("cluster-z", "00ff", 7, 2))) {
            assertThat(s.send("5:0", "generation 2")).isEqualTo(Outcome.ACKED);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void survivesUnload(boolean policy) throws Exception {
        start(policy);
        firstRound();
        b.admin().namespaces().unload(NS);
        secondRound();
        assertThat(b.plugin().counters().duplicates.sum()).isEqualTo(8);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void survivesCrash(boolean policy) throws Exception {
        start(policy);
        firstRound();
        b.crash();
        b.startAgain();
        Federation.introduce(b);
        secondRound();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void survivesTrimming(boolean policy) throws Exception {
        start(policy);
        b.admin().namespaces().setRetention(NS, new org.apache.pulsar.common.policies.data.RetentionPolicies(0, 0));
        Stream ended = new Stream("cluster-z", "00ff", 3, 1); // nothing of it will be left in the log
        try (OriginSession s = OriginSession.open(b, SEGMENT, ended)) {
            assertThat(s.send("2:2", "ended")).isEqualTo(Outcome.ACKED);
        }
        rounds(List.of("ended"));
        // every reload closes a ledger; the snapshot lets go of those that it covers
        b.admin().namespaces().unload(NS);
        try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
            for (int i = 10; i < 20; i++) {
                assertThat(s.send("7:" + i, "7:" + i)).isEqualTo(Outcome.ACKED);
            }
        }
        b.admin().namespaces().unload(NS);
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            var ledger = b.segment(SEGMENT).getManagedLedger();
            java.util.concurrent.CompletableFuture<Void> trimmed = new java.util.concurrent.CompletableFuture<>();
            ledger.trimConsumedLedgersInBackground((java.util.concurrent.CompletableFuture) trimmed);
            trimmed.get();
            assertThat(stored()).doesNotContain("ended", "5:0");
        });
        b.admin().namespaces().unload(NS);
        try (OriginSession s = OriginSession.open(b, SEGMENT, ended)) {
            assertThat(s.send("2:2", "again")).isEqualTo(Outcome.DUPLICATE);
        }
        try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
            for (String p : List.of("5:0", "6:1", "7:10", "7:19")) {
                assertThat(s.send(p, "again " + p)).as(p).isEqualTo(Outcome.DUPLICATE);
            }
            assertThat(s.send("7:20", "7:20")).isEqualTo(Outcome.ACKED);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void losesItsCursorAndReadsTheLog(boolean policy) throws Exception {
        start(policy);
        firstRound();
        // a broker without the plugin removes the watermarks' cursor when it loads the topic
        b.segment(SEGMENT).getManagedLedger().deleteCursor("pulsar.repl.georep_dedup");
        b.admin().namespaces().unload(NS);
        secondRound();
    }

    /** Where more streams arrive than a segment keeps, the new one waits, visibly, until one is forgotten. */
    @Test
    void aFullTableRefusesVisiblyAndLosesNothing() throws Exception {
        b = ClusterSpec.named("cluster-b").key("georepDedupMaxKeys", 2).start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create(NS, b);
        Federation.topic(TOPIC, 1, b);
        for (long origin : new long[] {1, 2}) {
            assertThat(send(origin)).isEqualTo(Outcome.ACKED);
        }
        assertThat(send(3)).as("a third stream").isNotIn(Outcome.ACKED, Outcome.DUPLICATE);
        assertThat(b.plugin().counters().full.sum()).isPositive();
        JsonNode s = new ObjectMapper().readTree(b.segment(SEGMENT).dedupStatusJson());
        assertThat(s.path("full").asBoolean()).isTrue();
        assertThat(s.path("maxKeys").asLong()).isEqualTo(2);
        assertThat(s.path("refused").asLong()).isPositive();
        assertThat(stored()).containsExactly("stream 1", "stream 2");

        // its origin says that segment 1 is gone
        assertThat(b.segment(SEGMENT).forgetStreams(List.of(new OriginKey("cluster-z", "00ff", 1, 1)))).isEqualTo(1);
        assertThat(send(3)).isEqualTo(Outcome.ACKED);
        assertThat(stored()).containsExactly("stream 1", "stream 2", "stream 3");

        // the log has three streams: without a snapshot, nobody knows which of them are gone
        b.segment(SEGMENT).getManagedLedger().deleteCursor("pulsar.repl.georep_dedup");
        b.admin().namespaces().unload(NS);
        assertThat(b.segment(SEGMENT).receiveTrouble()).as("after its load")
                .contains("more than 2 streams", "georepDedupMaxKeys");
        assertThat(b.plugin().counters().refusing.sum()).isEqualTo(1);
        try (Producer<byte[]> p = StampingProducer.create(b.internalClient(), ordinary(), m -> new long[0]).get()) {
            p.newMessage().value("ordinary".getBytes()).send();
        }
        assertThat(stored()).endsWith("ordinary");
    }

    private Outcome send(long origin) throws Exception {
        try (OriginSession s = OriginSession.open(b, SEGMENT, new Stream("cluster-z", "00ff", origin, 1))) {
            return s.send("5:0", "stream " + origin);
        }
    }

    private static ProducerConfigurationData ordinary() {
        ProducerConfigurationData conf = new ProducerConfigurationData();
        conf.setTopicName(SEGMENT);
        conf.setProducerName("app");
        conf.setBatchingEnabled(false);
        return conf;
    }

    /** A producer that has the same name on two clusters, and the policy on: one's numbers are not the other's. */
    @Test
    void producersOfTheSameNameOnTwoClustersDoNotMix() throws Exception {
        start(true);
        ProducerConfigurationData conf = ordinary(); // its name is in the replicated entries, with number 1,000,000
        try (Producer<byte[]> p = StampingProducer.create(b.internalClient(), conf, m -> new long[0]).get()) {
            p.newMessage().sequenceId(1).value("local 1".getBytes()).send();
        }
        try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
            assertThat(s.send("5:0", "replicated")).isEqualTo(Outcome.ACKED);
        }
        for (int round = 2; round < 4; round++) {
            b.admin().namespaces().unload(NS);
            try (Producer<byte[]> p = StampingProducer.create(b.internalClient(), conf, m -> new long[0]).get()) {
                p.newMessage().sequenceId(round - 1).value("again".getBytes()).send();
                p.newMessage().sequenceId(round).value(("local " + round).getBytes()).send();
            }
        }
        assertThat(stored()).containsExactly("local 1", "replicated", "local 2", "local 3");
    }
}
