// SPDX-License-Identifier: Apache-2.0
package georep.it.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.impl.schema.AutoProduceBytesSchema;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

/** The Java client of Pulsar 2 to 4. */
final class V4 implements AutoCloseable {
    private final PulsarClient client;

    V4(String serviceUrl) throws PulsarClientException {
        client = PulsarClient.builder().serviceUrl(serviceUrl).build();
    }

    /** Sends all messages of a request; a batching producer's as one batch. */
    void produce(JsonNode q) throws Exception {
        if (q.path("keyValue").asBoolean()) {
            send(q, Schema.KeyValue(Schema.BYTES, Schema.BYTES, KeyValueEncodingType.SEPARATED), (b, m) ->
                    b.value(new KeyValue<>(Sent.bytes(m, "keyBytes"), Sent.bytes(m, "value"))));
            return;
        }
        Schema<byte[]> schema = Schema.BYTES;
        if (q.hasNonNull("schema")) {
            schema = new AutoProduceBytesSchema<>(Schema.generic(SchemaInfo.builder().name("x").type(SchemaType.JSON)
                    .schema(q.get("schema").asText().getBytes(java.nio.charset.StandardCharsets.UTF_8)).build()));
        }
        send(q, schema, V4::fill);
    }

    private static void fill(TypedMessageBuilder<byte[]> b, JsonNode m) {
        b.value(Sent.bytes(m, "value"));
        if (m.hasNonNull("key")) {
            b.key(m.get("key").asText());
        }
        if (m.hasNonNull("keyBytes")) {
            b.keyBytes(Sent.bytes(m, "keyBytes"));
        }
        if (m.hasNonNull("ordering")) {
            b.orderingKey(Sent.bytes(m, "ordering"));
        }
        if (m.hasNonNull("seq")) {
            b.sequenceId(m.get("seq").asLong());
        }
    }

    /** Puts key and value on a message. */
    private interface Fill<T> {
        void into(TypedMessageBuilder<T> b, JsonNode m);
    }

    private <T> void send(JsonNode q, Schema<T> schema, Fill<T> fill) throws Exception {
        try (Producer<T> p = builder(q, schema).create()) {
            List<CompletableFuture<?>> sent = new ArrayList<>();
            for (JsonNode m : q.get("messages")) {
                TypedMessageBuilder<T> b = p.newMessage().properties(Sent.properties(m));
                fill.into(b, m);
                if (m.hasNonNull("at")) {
                    b.eventTime(m.get("at").asLong());
                }
                sent.add(b.sendAsync());
            }
            p.flush();
            for (CompletableFuture<?> f : sent) {
                f.get(30, TimeUnit.SECONDS);
            }
        }
    }

    private <T> ProducerBuilder<T> builder(JsonNode q, Schema<T> schema) {
        ProducerBuilder<T> b = client.newProducer(schema).topic(q.get("topic").asText())
                .compressionType(CompressionType.valueOf(q.get("codec").asText().toUpperCase(Locale.ROOT)))
                .enableBatching(q.get("batched").asBoolean()).batchingMaxMessages(1000)
                .batchingMaxPublishDelay(10, TimeUnit.MINUTES);
        if (q.hasNonNull("chunk")) {
            b.enableChunking(true).chunkMaxMessageSize(q.get("chunk").asInt());
        }
        if (q.hasNonNull("publicKey")) {
            b.addEncryptionKey("k").defaultCryptoKeyReader(Map.of("k", "file://" + q.get("publicKey").asText()));
        }
        return b;
    }

    /** Reads a topic from its first message to the end. */
    ArrayNode consume(JsonNode q) throws Exception {
        ArrayNode all = JsonNodeFactory.instance.arrayNode();
        try (Reader<byte[]> r = client.newReader().topic(q.get("topic").asText()).readerName(UUID.randomUUID() + "")
                .startMessageId(org.apache.pulsar.client.api.MessageId.earliest)
                .defaultCryptoKeyReader(new HashMap<>(Map.of("k", "file://" + q.get("privateKey").asText())))
                .create()) {
            while (!Sent.ended(all, q.path("ends").asInt(1))) {
                Message<byte[]> m = r.readNext(30, TimeUnit.SECONDS);
                if (m == null) {
                    throw new IllegalStateException("nothing came for 30 s after " + all.size() + " messages");
                }
                all.add(received(m));
            }
        }
        return all;
    }

    private static ObjectNode received(Message<byte[]> m) {
        ObjectNode o = Sent.received(m.getValue(), m.getProducerName(), m.getPublishTime(), m.getProperties());
        if (m.hasKey()) {
            o.put("key", m.getKey()).put("keyIsBytes", m.hasBase64EncodedKey());
        }
        if (m.hasOrderingKey()) {
            o.put("ordering", Base64.getEncoder().encodeToString(m.getOrderingKey()));
        }
        if (m.getSchemaVersion() != null) {
            o.put("schema", Base64.getEncoder().encodeToString(m.getSchemaVersion()));
        }
        o.put("from", m.getReplicatedFrom());
        return o.put("at", m.getEventTime()).put("seq", m.getSequenceId()).put("size", m.size());
    }

    @Override
    public void close() throws PulsarClientException {
        client.close();
    }
}
