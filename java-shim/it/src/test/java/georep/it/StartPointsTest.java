// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.StartPair.position;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The other starts, for new remotes and for those that begin anew. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StartPointsTest {
    private StartPair p;

    @BeforeAll
    void start() throws Exception {
        p = new StartPair();
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private OffloadedLog log(String topic, int messages) throws Exception {
        OffloadedLog log = OffloadedLog.of(p.a, topic, 0);
        log.publish(messages);
        return log;
    }

    private JsonNode reset(String topic, String body) throws Exception {
        Http.Answer r = p.call(topic, "reset-cursor", "{\"remote\":\"cluster-b\"," + body + "}");
        assertThat(r.status()).as(r.body()).isEqualTo(200);
        return r.json();
    }

    @Test
    void aPositionInTheMiddleOfALedger() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 14);
        long ledger = log.ledgers().get(1).getLedgerId();
        p.startAt(topic, ledger + ":3");
        p.join(topic);
        JsonNode plan = p.placed(topic, 0);
        assertThat(position(plan.path("start"))).isEqualTo(ledger + ":3");
        assertThat(plan.path("entries").asLong()).isEqualTo(8);
        assertThat(plan.path("offloadedEntries").asLong()).isZero();
        p.assertArrived(topic, 8, 14);
    }

    /** The namespace says it, and the topic nothing; the entry is found in a ledger that only the folder has. */
    @Test
    void aTimeInAnOffloadedLedger() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 7);
        TimeUnit.MILLISECONDS.sleep(5); // publish times are milliseconds
        long then = System.currentTimeMillis();
        log.publish(8);
        log.offload(2);
        log.deleteFromBookies();
        Http.Answer r = Http.post(p.a.broker, "/admin/v2/scalable-repl/start-at/" + StartPair.namespace(topic), null,
                "{\"remote\":\"cluster-b\",\"at\":\"" + then + "\"}");
        assertThat(r.status()).as(r.body()).isEqualTo(200);
        p.join(topic);
        JsonNode plan = p.placed(topic, 0);
        assertThat(plan.path("source").asText()).isEqualTo("namespace georep.startAt.cluster-b");
        assertThat(position(plan.path("start"))).isEqualTo(log.ledgers().get(1).getLedgerId() + ":2");
        assertThat(plan.path("entries").asLong()).isEqualTo(7);
        p.assertArrived(topic, 7, 15);
    }

    /** All of it arrives, what had arrived before once more: nothing of the new generation counts as stored. */
    @Test
    void fromTheStartAfterTheEnd() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 12);
        log.offload(2);
        log.deleteFromBookies();
        long offloaded = log.ledgers().subList(0, 2).stream().mapToLong(LedgerInfo::getSize).sum();
        p.startAt(topic, "latest");
        p.join(topic);
        assertThat(p.placed(topic, 0).path("entries").asLong()).isEqualTo(12);
        log.publish(5);
        p.assertArrived(topic, 12, 17);

        JsonNode dry = reset(topic, "\"to\":\"earliest\",\"dryRun\":true").path("total");
        assertThat(dry.path("readEntries").asLong()).isEqualTo(17);
        assertThat(dry.path("againEntries").asLong()).isEqualTo(17); // was past, by choice too
        assertThat(dry.path("readOffloadedBytes").asLong()).isEqualTo(offloaded);
        assertThat(dry.path("skipEntries").asLong()).isZero();
        assertThat(p.placed(topic, 0).path("entries").asLong()).as("left out after a dry run").isEqualTo(12);
        assertThat(p.numbers(topic)).hasSize(5);

        try (LogLines audit = LogLines.of("georep.audit", Level.INFO)) {
            JsonNode done = reset(topic, "\"to\":\"earliest\"");
            assertThat(audit.with("call=reset-cursor topic=" + topic + " remote=cluster-b to=earliest")).hasSize(1);
            assertThat(done.path("segments").get(0).path("generation").asLong()).isEqualTo(2);
        }
        List<Integer> all = new ArrayList<>(IntStream.range(12, 17).boxed().toList());
        all.addAll(IntStream.range(0, 17).boxed().toList());
        p.assertArrived(topic, all);
        assertThat(p.numbers(topic).subList(5, 22)).as("again, from the start").isEqualTo(all.subList(5, 22));
        assertThat(p.a.segment(log.segment()).sourceIdentity("cluster-b").get().generation()).isEqualTo(2);
        assertThat(p.placed(topic, 0).path("entries").asLong()).as("left out now").isZero();
    }

    /** An operator leaves out what has not been sent; it is counted, as if the remote had started there. */
    @Test
    void aResetLeavesOut() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 3);
        p.join(topic);
        p.assertArrived(topic, 0, 3);
        assertThat(p.call(topic, "pause", "{\"remote\":\"cluster-b\"}").status()).isEqualTo(200);
        log.publish(9);
        log.offload(2);
        JsonNode r = reset(topic, "\"to\":\"earliestNotOffloaded\"").path("total");
        assertThat(r.path("skipEntries").asLong()).isEqualTo(7);
        assertThat(r.path("readEntries").asLong()).isEqualTo(2);
        assertThat(p.call(topic, "resume", "{\"remote\":\"cluster-b\"}").status()).isEqualTo(200);
        p.assertArrived(topic, List.of(0, 1, 2, 10, 11));
        assertThat(p.placed(topic, 0).path("entries").asLong()).as("never sent").isEqualTo(7);
    }

    /** Of a compacted topic positions do not say what is left: the ordinary policy, here "earliest", decides. */
    @Test
    void aCompactedTopicKeepsTheOrdinaryPolicy() throws Exception {
        String topic = p.topic();
        p.a.admin().namespaces().setCompactionThreshold(StartPair.namespace(topic), 1_000_000);
        OffloadedLog log = log(topic, 12);
        log.offload(2);
        p.startAt(topic, "earliestNotOffloaded");
        p.join(topic);
        JsonNode plan = p.placed(topic, 0);
        assertThat(plan.path("action").asText()).isEqualTo("START_ACTION_ORDINARY");
        p.assertArrived(topic, 0, 12);
    }

    /** Deduplication changes nothing about where to start. */
    @Test
    void aDeduplicatedTopicDoesNot() throws Exception {
        String topic = p.topic();
        p.a.admin().namespaces().setDeduplicationStatus(StartPair.namespace(topic), true);
        OffloadedLog log = log(topic, 12);
        log.offload(2);
        log.deleteFromBookies();
        p.startAt(topic, "earliestNotOffloaded");
        p.join(topic);
        assertThat(p.placed(topic, 0).path("entries").asLong()).isEqualTo(10);
        p.assertArrived(topic, 10, 12);
    }

    /** A value that nobody understands holds replication until it is set right; it never reads as some start. */
    @Test
    void whatIsNoStart() throws Exception {
        String topic = p.topic();
        log(topic, 6);
        assertThat(p.call(topic, "start-at", "{\"remote\":\"cluster-b\",\"at\":\"oldest\"}").status()).isEqualTo(400);
        assertThat(p.call(topic, "start-at", "{\"remote\":\"cluster-a\",\"at\":\"latest\"}").body())
                .contains("remote:");
        assertThat(p.call(topic, "reset-cursor", "{\"remote\":\"cluster-b\",\"to\":\"earliest\"}").status())
                .as("not replicated").isEqualTo(404);
        p.a.admin().namespaces().setProperty(StartPair.namespace(topic), "georep.startAt", "oldest");
        p.join(topic);
        assertThat(p.waiting(topic, 0).path("why").asText()).contains("georep.startAt").contains("oldest");
        assertThat(p.numbers(topic)).isEmpty();
        p.startAt(topic, "earliest");
        p.assertArrived(topic, 0, 6);
        assertThat(p.call(topic, "reset-cursor", "{\"remote\":\"cluster-b\",\"to\":\"99999999:1\"}").status())
                .as("behind the end").isEqualTo(409);
    }
}
