// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.Federation;
import georep.it.Http;
import georep.it.SegmentLog;
import georep.plugin.source.SourceBroker;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.common.naming.TopicName;

/** A scalable topic and Georep. With as many segments at B all goes verbatim; else each entry straddles a boundary. */
final class GeorepRoute extends Route {
    /** One boundary of five segments lies in each of four. */
    private static final int STRADDLING = Corpus.SEGMENTS + 1;
    private static final int PRIMED = 1;
    private static int topics;

    private final String path = Pair.GEOREP + "/t" + topics++;
    private final String topic = "topic://" + path;
    private final boolean straddling;
    private final Map<String, Long> before;

    private GeorepRoute(Pair pair, Entries entries, boolean straddling) throws Exception {
        super(pair);
        this.straddling = straddling;
        Federation.topic(topic, straddling ? STRADDLING : Corpus.SEGMENTS, pair.b); // else A would create it there
        Federation.topic(topic, Corpus.SEGMENTS, pair.a);
        from = Pair.load(pair.a, SegmentLog.segments(pair.a, topic));
        to = Pair.load(pair.b, SegmentLog.segments(pair.b, topic));
        Publisher first = new Publisher(from, entries, 0);
        for (int i = 0; i < PRIMED * Corpus.SEGMENTS; i++) {
            first.publish();
        }
        await("the first entries of " + topic, () -> arrived() == 0);
        pause(true);
        await("a pause of " + topic, () -> status().stream().filter(GeorepRoute::held).count() == Corpus.SEGMENTS);
        before = pair.counters();
    }

    static GeorepRoute verbatim(Pair pair, Entries entries) throws Exception {
        return new GeorepRoute(pair, entries, false);
    }

    static GeorepRoute straddling(Pair pair, Entries entries) throws Exception {
        return new GeorepRoute(pair, entries, true);
    }

    @Override
    long primed() {
        return PRIMED;
    }

    /** What the plugin on A says of each segment, as the status call does. */
    private List<JsonNode> status() {
        List<JsonNode> all = new ArrayList<>();
        SourceBroker.of(pair.a.broker).status().topic(TopicName.get(topic)).forEach(all::add);
        return all;
    }

    /** Paused, and the last that was sent is acknowledged. */
    private static boolean held(JsonNode s) {
        return s.path("remoteStatus").asText().equals("supported")
                && s.path("window").path("state").asText().equals("paused") && s.path("backlog").asLong() == 0;
    }

    void pause(boolean on) throws Exception {
        Http.Answer answer = Http.post(pair.a.broker, "/admin/v2/scalable-repl/" + path + (on ? "/pause" : "/resume"),
                null, "{\"remote\":\"" + pair.b.name + "\"}");
        if (answer.status() != 200) {
            throw new IllegalStateException(topic + ": " + answer);
        }
    }

    @Override
    String cursor() {
        return "pulsar.repl." + pair.b.name;
    }

    @Override
    void start() throws Exception {
        pause(false);
    }

    @Override
    int entriesPerEntry() {
        return straddling ? 2 : 1;
    }

    /** How one of the core's counters has risen, over all topics. */
    long rise(String counter) {
        return pair.counters().getOrDefault(counter, 0L) - before.getOrDefault(counter, 0L);
    }

    @Override
    void assertWay(long entries) {
        await("A's cursors to be empty", () -> status().stream().allMatch(s -> s.path("backlog").asLong() == 0));
        assertCount("verbatim", straddling ? 0 : entries);
        assertCount("rebatched", straddling ? entries : 0);
        assertCount("parts", straddling ? 2 * entries : 0);
        for (String never : List.of("single", "unkeyed", "dropped", "parked")) {
            assertCount(never, 0);
        }
    }

    private void assertCount(String counter, long want) {
        if (rise(counter) != want) {
            throw new IllegalStateException(topic + ": " + counter + " rose by " + rise(counter) + ", not by " + want
                    + ": " + pair.counters() + ", before " + before);
        }
    }

    @Override
    void verify(Entries entries, long batchesPerSegment) throws Exception {
        if (straddling) {
            new Messages(entries.corpus).read(to).assertAll(batchesPerSegment);
        } else {
            Payloads.verify(to, entries, batchesPerSegment, pair.a.name);
        }
    }

    @Override
    public void close() throws Exception {
        pair.a.admin().scalableTopics().deleteScalableTopic(topic, true);
        try {
            pair.b.admin().scalableTopics().deleteScalableTopic(topic, true);
        } catch (NotFoundException ignored) {
            // went with A's
        }
    }
}
