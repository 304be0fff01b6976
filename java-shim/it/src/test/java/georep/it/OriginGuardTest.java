// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import georep.it.OriginSession.Stream;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.impl.StampingProducer;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Ordinary producers can copy an origin record without harm, and cannot move a watermark with one. */
class OriginGuardTest {
    private static final String NS = "t/guard";
    private static final Stream ORIGIN = new Stream("cluster-z", "00ff", 7, 1);
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create(NS, b);
    }

    @AfterAll
    static void stop() throws Exception {
        b.close();
    }

    @Test
    void aCopiedRecordIsStoredAndMovesNothing() throws Exception {
        String topic = "topic://t/guard/copy";
        String segment = "segment://t/guard/copy/0000-ffff-0";
        Federation.topic(topic, 1, b);
        String record;
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:0", "one")).isEqualTo(Outcome.ACKED);
            record = s.record("9:9");
        }
        try (PulsarClient c = b.v5(); var p = c.newProducer(Schema.bytes()).topic(topic).create()) {
            p.newMessage().key("k").property("__GEOREP_ORIGIN", record).property("__MSG_PROP_REPL_SOURCE_POSITION",
                    "9:9").value(new byte[] {1}).send();
        }
        assertThat(SegmentLog.read(b, segment)).hasSize(2);
        b.admin().namespaces().unload(NS); // the replay sees the copy
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:1", "two")).isEqualTo(Outcome.ACKED);
            assertThat(s.send("5:0", "one")).isEqualTo(Outcome.DUPLICATE);
        }
    }

    @Test
    void nothingIsStoredBehindARefusedEntry() throws Exception {
        String segment = "segment://t/guard/refused/0000-ffff-0";
        Federation.topic("topic://t/guard/refused", 1, b);
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:0", "zero")).isEqualTo(Outcome.ACKED);
            var damaged = s.queue("5:1", "one", true); // or its refusal ends the session before there is one behind it
            var behind = s.sendAsync("5:2", "two");
            assertThat(damaged.get(20, TimeUnit.SECONDS)).isEqualTo(Outcome.CHECKSUM_ERROR);
            assertThat(behind.get(20, TimeUnit.SECONDS)).isNotEqualTo(Outcome.ACKED);
        }
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:1", "one")).isEqualTo(Outcome.ACKED); // not overtaken
            assertThat(s.send("5:2", "two")).isEqualTo(Outcome.ACKED);
        }
        assertThat(SegmentLog.read(b, segment).stream().map(e -> new String(e.payload(), UTF_8)))
                .containsExactly("zero", "one", "two");
    }

    @Test
    void aForgedReplicatedEntryIsRefused() throws Exception {
        String topic = "topic://t/guard/forged";
        String segment = "segment://t/guard/forged/0000-ffff-0";
        Federation.topic(topic, 1, b);
        ProducerConfigurationData conf = new ProducerConfigurationData();
        conf.setTopicName(segment);
        conf.setSendTimeoutMs(5_000);
        conf.setBatchingEnabled(false);
        String record = "1|cluster-z|00ff|7|1|9:9|" + segment;
        StampingProducer p = StampingProducer.create(b.internalClient(), conf, m -> new long[0]).get();
        long before = b.plugin().counters().forged.sum();
        var message = p.newMessage().key("k").property("__GEOREP_ORIGIN", record).value(new byte[] {1});
        // what no public API sets
        ((org.apache.pulsar.client.impl.TypedMessageBuilderImpl<byte[]>) message).getMetadataBuilder()
                .setReplicatedFrom("cluster-z");
        assertThatThrownBy(message::send).isInstanceOf(PulsarClientException.NotAllowedException.class);
        assertThat(b.plugin().counters().forged.sum()).isEqualTo(before + 1);
        // bound to another topic it is an ordinary copy
        var elsewhere = p.newMessage().key("k").property("__GEOREP_ORIGIN", record + "x").value(new byte[] {2});
        ((org.apache.pulsar.client.impl.TypedMessageBuilderImpl<byte[]>) elsewhere).getMetadataBuilder()
                .setReplicatedFrom("cluster-z");
        elsewhere.send();
        assertThat(SegmentLog.read(b, segment)).hasSize(1);
        p.close();
    }
}
