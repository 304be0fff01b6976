// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.source.ReplicationSource;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumerBuilder;
import org.apache.pulsar.client.api.v5.auth.PemFileKeyProvider;
import org.apache.pulsar.client.api.v5.config.ConsumerEncryptionPolicy;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.awaitility.Awaitility;

/** What the tests of kinds of entries do to a cluster, and ask of it. */
final class Kinds {
    static final Duration SOON = Duration.ofSeconds(30);

    private Kinds() {
    }

    /** A producer of the v4 client on one segment, batching as long as nobody flushes. */
    static Producer<byte[]> producer(Cluster c, String segment, Consumer<ProducerConfigurationData> tweak)
            throws Exception {
        ProducerConfigurationData conf = new ProducerConfigurationData();
        conf.setTopicName(segment);
        conf.setBatchingEnabled(true);
        conf.setBatchingMaxMessages(1000);
        conf.setBatchingMaxPublishDelayMicros(TimeUnit.MINUTES.toMicros(10));
        tweak.accept(conf);
        return c.internalClient().createSegmentProducerAsync(conf, Schema.BYTES).get(20, TimeUnit.SECONDS);
    }

    /** Sends one batch of messages; {@code each} gives key and properties to number i. */
    static void batch(Producer<byte[]> p, List<String> texts, Each each) throws Exception {
        List<CompletableFuture<?>> sent = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            TypedMessageBuilder<byte[]> m = p.newMessage().value(texts.get(i).getBytes(StandardCharsets.UTF_8));
            each.message(m, i);
            sent.add(m.sendAsync());
        }
        p.flush();
        for (CompletableFuture<?> f : sent) {
            f.get(20, TimeUnit.SECONDS);
        }
    }

    /** Fills in a message. */
    @FunctionalInterface
    interface Each {
        void message(TypedMessageBuilder<byte[]> m, int i);
    }

    static List<String> texts(String tag, int n) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            all.add(tag + "-" + i);
        }
        return all;
    }

    /** The texts of so many messages, read by an application of a cluster; a private key decrypts them. */
    static List<String> read(Cluster c, String topic, int messages, Path privateKey) throws Exception {
        return read(c, topic, messages, privateKey, SOON);
    }

    /** The same, with so much patience before each message. */
    static List<String> read(Cluster c, String topic, int messages, Path privateKey, Duration atMost)
            throws Exception {
        List<String> all = new ArrayList<>();
        try (PulsarClient client = c.v5()) {
            StreamConsumerBuilder<byte[]> b = client
                    .newStreamConsumer(org.apache.pulsar.client.api.v5.schema.Schema.bytes()).topic(topic)
                    .subscriptionName(UUID.randomUUID().toString())
                    .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST);
            if (privateKey != null) {
                b.encryptionPolicy(ConsumerEncryptionPolicy.builder().privateKeyProvider(PemFileKeyProvider.builder()
                        .privateKey("k", privateKey).build()).build());
            }
            try (StreamConsumer<byte[]> consumer = b.subscribe()) {
                while (all.size() < messages) {
                    Message<byte[]> m = consumer.receive(atMost);
                    assertThat(m).as("after %s", all).isNotNull();
                    all.add(new String(m.value(), StandardCharsets.UTF_8));
                    consumer.acknowledgeCumulative(m.id()); // or the children of a sealed segment never come
                }
            }
        }
        return all;
    }

    /** Everything stored, segment by segment. */
    static List<StoredEntry> stored(Cluster c, String topic) throws Exception {
        List<StoredEntry> all = new ArrayList<>();
        for (String s : SegmentLog.segments(c, topic)) {
            all.addAll(SegmentLog.read(c, s));
        }
        return all;
    }

    static List<String> payloads(List<StoredEntry> entries) {
        return entries.stream().map(e -> new String(e.payload(), StandardCharsets.UTF_8)).toList();
    }

    /** Waits until a source segment has stopped at so many parked entries, all for one reason; their positions. */
    static List<long[]> awaitParked(Cluster c, String topic, String segment, int entries, String reason) {
        List<long[]> at = new ArrayList<>();
        Awaitility.await().atMost(SOON).untilAsserted(() -> {
            JsonNode parked = window(c, topic, segment).path("parked");
            assertThat(parked.size()).as("parked: %s", SourcePair.status(c, topic)).isEqualTo(entries);
            at.clear();
            for (JsonNode n : parked) {
                assertThat(n.path("reason").asText()).isEqualTo(reason);
                at.add(new long[]{n.path("position").path("ledger").asLong(),
                        n.path("position").path("entry").asLong()});
            }
        });
        return at;
    }

    private static JsonNode window(Cluster c, String topic, String segment) {
        for (JsonNode n : SourcePair.status(c, topic)) {
            if (n.path("segment").asLong() == SourcePair.id(segment)) {
                return n.path("window");
            }
        }
        throw new AssertionError("no replicator of " + segment);
    }

    static void skip(Cluster c, String segment, String remote, List<long[]> positions) throws Exception {
        ReplicationSource source = (ReplicationSource) c.segment(segment).getReplicators().get(remote);
        for (long[] p : positions) {
            source.skip(p[0], p[1]);
        }
    }
}
