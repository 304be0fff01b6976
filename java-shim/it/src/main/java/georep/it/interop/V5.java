// SPDX-License-Identifier: Apache-2.0
package georep.it.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.ProducerBuilder;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.async.AsyncMessageBuilder;
import org.apache.pulsar.client.api.v5.auth.PemFileKeyProvider;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.config.ChunkingPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionType;
import org.apache.pulsar.client.api.v5.config.ConsumerEncryptionPolicy;
import org.apache.pulsar.client.api.v5.config.ProducerEncryptionPolicy;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.client.api.v5.schema.SchemaInfo;
import org.apache.pulsar.client.api.v5.schema.SchemaType;

/** The Java client of Pulsar 5, on scalable topics. */
final class V5 implements AutoCloseable {
    private final PulsarClient client;

    V5(String serviceUrl) throws PulsarClientException {
        client = PulsarClient.builder().serviceUrl(serviceUrl).build();
    }

    /** Sends all messages of a request, batching ones by time: a flush does not wait for producers to connect. */
    void produce(JsonNode q) throws Exception {
        Schema<byte[]> schema = Schema.bytes();
        if (q.hasNonNull("schema")) {
            schema = Schema.autoProduceBytesOf(Schema.generic(SchemaInfo.of("x", SchemaType.JSON,
                    q.get("schema").asText().getBytes(StandardCharsets.UTF_8), Map.of())));
        }
        ProducerBuilder<byte[]> b = client.newProducer(schema).topic(q.get("topic").asText())
                .compressionPolicy(CompressionPolicy.of(CompressionType.valueOf(q.get("codec").asText()
                        .toUpperCase(Locale.ROOT))))
                .batchingPolicy(!q.get("batched").asBoolean() ? BatchingPolicy.ofDisabled()
                        : BatchingPolicy.builder().maxMessages(1000).maxPublishDelay(Duration.ofMillis(100)).build());
        if (q.hasNonNull("chunk")) {
            b.chunkingPolicy(ChunkingPolicy.builder().chunkSize(q.get("chunk").asInt()).build());
        }
        if (q.hasNonNull("publicKey")) {
            b.encryptionPolicy(ProducerEncryptionPolicy.builder().keyName("k").publicKeyProvider(PemFileKeyProvider
                    .builder().publicKey("k", Path.of(q.get("publicKey").asText())).build()).build());
        }
        try (Producer<byte[]> p = b.create()) {
            List<CompletableFuture<?>> sent = new ArrayList<>();
            for (JsonNode m : q.get("messages")) {
                sent.add(send(p, m));
            }
            p.async().flush().get(30, TimeUnit.SECONDS);
            for (CompletableFuture<?> f : sent) {
                f.get(30, TimeUnit.SECONDS);
            }
        }
    }

    private static CompletableFuture<?> send(Producer<byte[]> p, JsonNode m) {
        AsyncMessageBuilder<byte[]> b = p.async().newMessage().value(Sent.bytes(m, "value"))
                .properties(Sent.properties(m));
        if (m.hasNonNull("key")) {
            b.key(m.get("key").asText());
        }
        if (m.hasNonNull("at")) {
            b.eventTime(Instant.ofEpochMilli(m.get("at").asLong()));
        }
        if (m.hasNonNull("seq")) {
            b.sequenceId(m.get("seq").asLong());
        }
        return b.send();
    }

    /** Reads a topic's segments from their first messages to their ends. */
    ArrayNode consume(JsonNode q) throws Exception {
        ArrayNode all = JsonNodeFactory.instance.arrayNode();
        try (StreamConsumer<byte[]> c = client.newStreamConsumer(Schema.bytes()).topic(q.get("topic").asText())
                .subscriptionName(UUID.randomUUID() + "")
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST)
                .encryptionPolicy(ConsumerEncryptionPolicy.builder().privateKeyProvider(PemFileKeyProvider.builder()
                        .privateKey("k", Path.of(q.get("privateKey").asText())).build()).build())
                .subscribe()) {
            while (!Sent.ended(all, q.path("ends").asInt(1))) {
                Message<byte[]> m = c.receive(Duration.ofSeconds(30));
                if (m == null) {
                    throw new IllegalStateException("nothing came for 30 s after " + all.size() + " messages");
                }
                all.add(received(m));
            }
        }
        return all;
    }

    private static ObjectNode received(Message<byte[]> m) {
        ObjectNode o = Sent.received(m.value(), m.producerName().orElse(null), m.publishTime().toEpochMilli(),
                m.properties());
        m.key().ifPresent(k -> o.put("key", k));
        m.replicatedFrom().ifPresent(r -> o.put("from", r));
        return o.put("at", m.eventTime().map(Instant::toEpochMilli).orElse(0L)).put("seq", m.sequenceId())
                .put("size", m.size());
    }

    @Override
    public void close() throws PulsarClientException {
        client.close();
    }
}
