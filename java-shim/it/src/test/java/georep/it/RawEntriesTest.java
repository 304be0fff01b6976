// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.Iterables;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The raw reader: what it answers is the log, byte for byte, page by page, and it leaves nothing behind. */
class RawEntriesTest {
    private static final String BASE = "/admin/v2/scalable-repl/entries/t/raw/";
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create("t/raw", b);
        b.admin().namespaces().setRetention("t/raw", new RetentionPolicies(-1, -1));
    }

    @AfterAll
    static void stop() throws Exception {
        b.close();
    }

    private static HttpResponse<byte[]> page(String query) throws Exception {
        return HTTP.send(HttpRequest.newBuilder(URI.create(b.broker.getWebServiceAddress() + BASE + query)).build(),
                HttpResponse.BodyHandlers.ofByteArray());
    }

    /** All pages of a segment: entries by position, and how many each page held. */
    private static Map<String, ByteBuffer> pages(String segment, int max, List<Integer> sizes) throws Exception {
        Map<String, ByteBuffer> all = new TreeMap<>();
        String next = null;
        do {
            HttpResponse<byte[]> r = page(segment + "?max=" + max + (next == null ? "" : "&from=" + next));
            assertThat(r.statusCode()).as(new String(r.body())).isEqualTo(200);
            assertThat(r.headers().firstValue("X-Georep-Cluster")).hasValue("cluster-b");
            int n = 0;
            for (ByteBuffer in = ByteBuffer.wrap(r.body()); in.hasRemaining(); n++) {
                String at = in.getLong() + ":" + in.getLong();
                byte[] entry = new byte[in.getInt()];
                in.get(entry);
                assertThat(all.put(at, ByteBuffer.wrap(entry))).as("twice: " + at).isNull();
            }
            sizes.add(n);
            next = r.headers().firstValue("X-Georep-Next").orElse(null);
        } while (next != null);
        return all;
    }

    private static Map<String, ByteBuffer> ledger(ManagedLedger log) throws Exception {
        Map<String, ByteBuffer> all = new TreeMap<>();
        ManagedCursor c = log.newNonDurableCursor(PositionFactory.EARLIEST);
        while (c.hasMoreEntries()) {
            for (Entry e : c.readEntries(100)) {
                all.put(e.getLedgerId() + ":" + e.getEntryId(), ByteBuffer.wrap(e.getData()));
                e.release();
            }
        }
        log.deleteCursor(c.getName());
        return all;
    }

    private static void publish(String topic, int messages, int bytes) throws Exception {
        try (PulsarClient client = b.v5(); Producer<byte[]> p = client.newProducer(Schema.bytes()).topic(topic)
                .batchingPolicy(BatchingPolicy.ofDisabled()).create()) {
            for (int i = 0; i < messages; i++) {
                p.newMessage().key("k" + i).value(new byte[bytes]).send();
            }
        }
    }

    @Test
    void pagesAreTheLogAlsoOfASealedSegmentThatIsNotLoaded() throws Exception {
        String topic = "topic://t/raw/pages";
        String segment = "segment://t/raw/pages/0000-ffff-0";
        Federation.topic(topic, 1, b);
        assertThat(pages("pages/0", 10, new ArrayList<>())).isEmpty();
        publish(topic, 25, 100);
        b.admin().namespaces().unload("t/raw"); // the log goes on in another ledger
        publish(topic, 10, 100);
        ManagedLedger log = b.segment(segment).getManagedLedger();
        assertThat(log.getLedgersInfo().size()).isGreaterThan(1);
        Map<String, ByteBuffer> stored = ledger(log);
        assertThat(stored).hasSize(35);
        List<Integer> sizes = new ArrayList<>();
        assertThat(pages("pages/0", 10, sizes)).isEqualTo(stored);
        assertThat(sizes).allMatch(n -> n <= 10).hasSizeGreaterThanOrEqualTo(4);
        assertThat(Iterables.size(log.getCursors())).as("cursors of readers").isZero();

        b.admin().scalableTopics().splitSegment(topic, 0);
        b.admin().namespaces().unload("t/raw");
        assertThat(pages("pages/0", 1000, new ArrayList<>())).isEqualTo(stored);
        assertThat(pages("pages/1", 1000, new ArrayList<>())).isEmpty();
    }

    @Test
    void anAnswerIsBoundedInBytesButHoldsOneEntry() throws Exception {
        Federation.topic("topic://t/raw/large", 1, b);
        publish("topic://t/raw/large", 5, 1_500_000);
        publish("topic://t/raw/large", 2, 4_900_000);
        List<Integer> sizes = new ArrayList<>();
        assertThat(pages("large/0", 1000, sizes)).hasSize(7);
        assertThat(sizes).allMatch(n -> n >= 1 && n <= 2);
    }

    @Test
    void badQuestionsAreRefused() throws Exception {
        Federation.topic("topic://t/raw/bad", 1, b);
        for (String q : List.of("bad/0?from=x", "bad/0?from=1:2:3", "bad/0?from=-1:0", "bad/0?max=0",
                "bad/0?max=1001")) {
            assertThat(page(q).statusCode()).as(q).isEqualTo(400);
        }
        assertThat(page("bad/99").statusCode()).isEqualTo(404);
        assertThat(page("nosuch/0").statusCode()).isEqualTo(404);
    }
}
