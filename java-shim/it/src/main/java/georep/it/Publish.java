// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;

/** Publishes keyed messages whose text tells key and number: {@code k3#17}. */
public final class Publish {
    private Publish() {
    }

    public static String text(int number, int keys) {
        return "k" + number % keys + "#" + number;
    }

    /** Messages {@code from} to {@code to - 1}, spread over so many keys; returns when all are stored. */
    public static void v5(Producer<byte[]> producer, int from, int to, int keys) throws Exception {
        List<CompletableFuture<?>> sent = new ArrayList<>();
        for (int i = from; i < to; i++) {
            sent.add(producer.async().newMessage().key("k" + i % keys).value(text(i, keys)
                    .getBytes(StandardCharsets.UTF_8)).send());
        }
        for (CompletableFuture<?> f : sent) {
            f.get(30, TimeUnit.SECONDS);
        }
    }

    /** The same with a client and producer of its own. */
    public static void v5(Cluster c, String topic, int from, int to, int keys) throws Exception {
        try (PulsarClient client = c.v5(); Producer<byte[]> p = client.newProducer(Schema.bytes()).topic(topic)
                .create()) {
            v5(p, from, to, keys);
        }
    }
}
