// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.auth.PemFileKeyProvider;
import org.apache.pulsar.client.api.v5.config.CompressionPolicy;
import org.apache.pulsar.client.api.v5.config.ProducerEncryptionPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.client.impl.DefaultCryptoKeyReader;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.util.Murmur3_32Hash;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** End-to-end encrypted entries: never opened, and read at the other side by who has the key. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class KindEncryptedTest {
    private SourcePair p;
    private KindKeys keys;

    /** A parks encrypted batches that do not fit; B places them. */
    @BeforeAll
    void start() throws Exception {
        keys = KindKeys.make(Dirs.fresh());
        p = SourcePair.apart(true, s -> s.key("georepEncryptedBatchPolicy",
                s.name.equals("cluster-a") ? "park" : "place"));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private Producer<byte[]> producer(Cluster c, String segment, Consumer<ProducerConfigurationData> tweak)
            throws Exception {
        return Kinds.producer(c, segment, conf -> {
            conf.setEncryptionKeys(Set.of("k"));
            conf.setCryptoKeyReader(DefaultCryptoKeyReader.builder()
                    .publicKey("k", "file://" + keys.publicKey()).build());
            tweak.accept(conf);
        });
    }

    private static List<byte[]> bodies(List<StoredEntry> entries) {
        return entries.stream().map(StoredEntry::payload).toList();
    }

    /** Both Java clients batch with encryption on; such a batch fits as any other does. */
    @Test
    void whatFitsTravelsAsItIs() throws Exception {
        String t = p.topic("encrypted-fits", 1, 1);
        Rise r = new Rise(p.a, p.b, "verbatim", "single", "parts", "parked");
        List<String> batch = Kinds.texts("a secret of many words, and of many more", 300);
        try (PulsarClient client = p.a.v5(); var v5 = client.newProducer(Schema.bytes()).topic(t)
                .compressionPolicy(CompressionPolicy.of(
                        org.apache.pulsar.client.api.v5.config.CompressionType.LZ4))
                .encryptionPolicy(ProducerEncryptionPolicy.builder().keyName("k").publicKeyProvider(PemFileKeyProvider
                        .builder().publicKey("k", keys.publicKey()).build()).build()).create()) {
            v5.newMessage().key("k0").value("v5".getBytes(StandardCharsets.UTF_8)).send();
        }
        String segment = SegmentLog.segments(p.a, t).get(0);
        try (Producer<byte[]> v4 = producer(p.a, segment, c -> c.setCompressionType(CompressionType.ZSTD))) {
            Kinds.batch(v4, batch, (m, i) -> m.key("k" + i));
        }
        try (Producer<byte[]> v4 = producer(p.a, segment, c -> c.setBatchingEnabled(false))) {
            Kinds.batch(v4, List.of("single"), (m, i) -> m.key("k1"));
        }
        await(p.a, p.b, t, Kinds.SOON, 3);
        List<StoredEntry> a = Kinds.stored(p.a, t);
        List<StoredEntry> b = Kinds.stored(p.b, t);
        assertThat(bodies(b)).usingRecursiveComparison().isEqualTo(bodies(a));
        assertThat(a).allMatch(e -> e.parsed().getEncryptionKeysCount() == 1);
        assertThat(a.stream().filter(e -> e.parsed().hasNumMessagesInBatch())).as("batches").isNotEmpty();
        assertThat(Kinds.read(p.b, t, 302, keys.privateKey())).isEqualTo(Kinds.read(p.a, t, 302, keys.privateKey()))
                .containsAll(batch).contains("v5", "single");
        assertThat(r.of("verbatim") + r.of("single")).isEqualTo(3);
        assertThat(r.of("verbatim")).isPositive();
        assertThat(r.of("parts") + r.of("parked")).isZero();
    }

    /** A batch that does not fit is kept, and holds back what follows, until the other side's layout has room. */
    @Test
    void parkedUntilALayoutHasRoom() throws Exception {
        String t = p.topic("encrypted-park", 1, 2);
        Rise r = new Rise(p.a, p.b, "verbatim", "single", "parts", "parked");
        String segment = SegmentLog.segments(p.a, t).get(0);
        List<String> batch = Kinds.texts("secret", 20);
        try (Producer<byte[]> v4 = producer(p.a, segment, c -> { })) {
            Kinds.batch(v4, List.of("before"), (m, i) -> m.key("k")); // a batch of one is no batch in Java
            Kinds.batch(v4, batch, (m, i) -> m.key("k" + i));
            Kinds.batch(v4, List.of("after"), (m, i) -> m.key("k"));
        }
        Kinds.awaitParked(p.a, t, segment, 1, "encrypted-batch");
        assertThat(Kinds.read(p.b, t, 1, keys.privateKey())).containsExactly("before");
        assertThat(Kinds.stored(p.b, t)).hasSize(1);
        p.b.admin().scalableTopics().mergeSegments(t, 0, 1);
        await(p.a, p.b, t, Kinds.SOON, 3);
        assertThat(Kinds.read(p.b, t, 22, keys.privateKey())).startsWith("before").containsAll(batch).endsWith("after");
        assertThat(r.of("verbatim")).isEqualTo(1);
        assertThat(r.of("single")).isEqualTo(2);
        assertThat(r.of("parked")).isEqualTo(1);
        assertThat(r.of("parts")).isZero();
    }

    /** With policy place the whole batch goes to the segment of its outer key. */
    @Test
    void placedByTheOuterKey() throws Exception {
        String t = p.topic("encrypted-place", 2, 1);
        Rise r = new Rise(p.b, p.a, "single", "verbatim", "parts", "parked");
        List<String> batch = Kinds.texts("secret", 20);
        String outerKey = "k7";
        try (Producer<byte[]> v4 = producer(p.b, SegmentLog.segments(p.b, t).get(0), c -> { })) {
            Kinds.batch(v4, batch, (m, i) -> m.key(i == 0 ? outerKey : "k" + (100 + i)));
            Kinds.batch(v4, List.of("after"), (m, i) -> m.key(outerKey));
        }
        await(p.b, p.a, t, Kinds.SOON, 2);
        int hash = Murmur3_32Hash.getInstance().makeHash(outerKey.getBytes(StandardCharsets.UTF_8)) & 0xffff;
        List<StoredEntry> there = SegmentLog.read(p.a, SourcePair.active(p.a, t, hash));
        assertThat(there).hasSize(2);
        assertThat(there.get(0).parsed().getNumMessagesInBatch()).isEqualTo(20);
        assertThat(bodies(there)).usingRecursiveComparison().isEqualTo(bodies(Kinds.stored(p.b, t)));
        assertThat(Kinds.read(p.a, t, 21, keys.privateKey())).containsSubsequence(batch).endsWith("after");
        assertThat(r.of("single")).isEqualTo(2);
        assertThat(r.of("verbatim") + r.of("parts") + r.of("parked")).isZero();
    }
}
