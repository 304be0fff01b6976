// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.StartPair.position;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.pulsar.broker.service.persistent.RecordFault;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A new remote of a topic that holds data already: where it starts, by ledgers that are really offloaded. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StartAtTest {
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

    /** Vector "10 offloaded, 11 offloaded, 12 open", with ledgers that bookkeeper does not have any more. */
    @Test
    void aNewRemoteStartsBehindWhatIsOffloaded() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 23);
        log.offload(2);
        log.deleteFromBookies();
        log.offload(3);
        List<LedgerInfo> g = log.ledgers();
        assertThat(g).hasSize(5);
        p.startAt(topic, "earliestNotOffloaded");
        long readsBefore = p.tier.reads();
        p.join(topic);

        JsonNode plan = p.placed(topic, 0);
        assertThat(position(plan.path("start"))).isEqualTo(g.get(3).getLedgerId() + ":0");
        assertThat(position(plan.path("horizon"))).isEqualTo(g.get(2).getLedgerId() + ":4");
        assertThat(plan.path("source").asText()).isEqualTo("topic georep.startAt.cluster-b");
        assertThat(plan.path("entries").asLong()).isEqualTo(15);
        long bytes = g.subList(0, 3).stream().mapToLong(LedgerInfo::getSize).sum();
        assertThat(plan.path("bytes").asLong()).isEqualTo(bytes);
        assertThat(plan.path("offloadedBytes").asLong()).isEqualTo(bytes);
        assertThat(plan.path("toMillis").asLong()).isEqualTo(g.get(2).getTimestamp());
        assertThat(plan.path("fromMillis").asLong()).isPositive().isLessThanOrEqualTo(g.get(0).getTimestamp());
        assertThat(plan.path("skipped")).hasSize(3);
        for (int i = 0; i < 3; i++) {
            JsonNode m = plan.path("skipped").get(i);
            var c = g.get(i).getOffloadContext();
            assertThat(m.path("ledger").asLong()).isEqualTo(g.get(i).getLedgerId());
            assertThat(m.path("entries").asLong()).isEqualTo(5);
            assertThat(m.path("driver").asText()).isEqualTo(FileOffloader.DRIVER);
            assertThat(m.path("uuid").asText()).isEqualTo(new UUID(c.getUidMsb(), c.getUidLsb()).toString());
        }
        p.assertArrived(topic, 15, 23);
        log.publish(4);
        p.assertArrived(topic, 15, 27);
        assertThat(p.tier.reads() - readsBefore).as("entries read out of tiered storage").isZero();

        JsonNode status = p.get("status/" + topic.substring("topic://".length())).path("segments").get(0)
                .path("remotes").path("cluster-b").path("bootstrap").path("plan");
        assertThat(status.path("entries").asLong()).isEqualTo(15);
        assertThat(status.has("skipped")).as("the manifest has a call of its own").isFalse();
        p.a.move(StartPair.namespace(topic), p.a.broker);
        log.publish(2);
        p.assertArrived(topic, 15, 29);
        assertThat(p.placed(topic, 0)).as("after another load").isEqualTo(plan);
    }

    /** Vector "10 offloaded, 11 not, 12 offloaded, 13 open": what is behind the hole is sent, out of tiered storage. */
    @Test
    void aHoleEndsWhatIsSkipped() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 17);
        p.tier.refuse(log.ledgers().get(1).getLedgerId());
        Assertions.assertThatThrownBy(() -> log.offload(3)).hasMessageContaining("does not take ledger");
        List<LedgerInfo> g = log.ledgers();
        assertThat(g.stream().map(x -> x.getOffloadContext().isComplete())).containsExactly(true, false, true, false);
        log.deleteFromBookies();
        p.startAt(topic, "earliestNotOffloaded");
        p.join(topic);
        JsonNode plan = p.placed(topic, 0);
        assertThat(position(plan.path("start"))).isEqualTo(g.get(1).getLedgerId() + ":0");
        assertThat(plan.path("entries").asLong()).isEqualTo(5);
        p.assertArrived(topic, 5, 17);
        assertThat(p.tier.reads()).as("ledger 12 is read back").isGreaterThanOrEqualTo(5);
    }

    /** Vector "metadata unreadable, none deleted": bookkeeper has everything, so everything is sent. */
    @Test
    void whatCannotBeReadIsSentWhereItIsStillLocal() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 12);
        log.offload(2);
        p.startAt(topic, "earliestNotOffloaded");
        try (RecordFault fault = RecordFault.offloadsUnreadable(log.segment())) {
            p.join(topic);
            JsonNode plan = p.placed(topic, 0);
            assertThat(fault.met()).isPositive();
            assertThat(position(plan.path("start"))).isEqualTo(log.ledgers().get(0).getLedgerId() + ":0");
            assertThat(plan.path("entries").asLong()).isZero();
            p.assertArrived(topic, 0, 12);
        }
    }

    /** A store that does not answer is asked again; it is not taken for a log without ledgers. */
    @Test
    void theStoreIsAskedAgain() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 12);
        log.offload(2);
        p.startAt(topic, "earliestNotOffloaded");
        try (RecordFault fault = RecordFault.unreadable(log.segment())) {
            p.join(topic);
            assertThat(p.waiting(topic, 0).path("why").asText()).contains("the store does not answer");
            assertThat(fault.met()).isPositive();
            assertThat(p.numbers(topic)).isEmpty();
        }
        assertThat(p.placed(topic, 0).path("entries").asLong()).isEqualTo(10);
        p.assertArrived(topic, 10, 12);
    }

    /**
     * Vector "metadata unreadable, some ledgers deleted": neither 0 nor the end is guessed. Retention trims nothing
     * meanwhile, an owner that comes in between goes on, and what was published in between arrives.
     */
    @Test
    void whatIsNotKnownIsWaitedFor() throws Exception {
        String topic = p.topic();
        OffloadedLog log = log(topic, 18);
        log.offload(2);
        log.deleteFromBookies();
        List<LedgerInfo> g = log.ledgers();
        p.startAt(topic, "earliestNotOffloaded");
        try (RecordFault fault = RecordFault.offloadsUnreadable(log.segment())) {
            p.join(topic);
            JsonNode waits = p.waiting(topic, 0);
            assertThat(waits.path("why").asText()).contains("offloaded");
            p.a.admin().namespaces().setRetention(StartPair.namespace(topic),
                    new org.apache.pulsar.common.policies.data.RetentionPolicies(0, 0));
            log.publish(4);
            log.deleteFromBookies(); // trims
            assertThat(log.ledgers().get(0).getLedgerId()).as("log start").isEqualTo(g.get(0).getLedgerId());
            int before = fault.met();
            p.a.move(StartPair.namespace(topic), p.a.broker);
            log.publish(2);
            org.awaitility.Awaitility.await().atMost(java.time.Duration.ofSeconds(30)).until(() -> fault.met()
                    > before);
            assertThat(p.waiting(topic, 0).path("why").asText()).contains("offloaded");
            assertThat(log.ledgers().get(0).getLedgerId()).as("log start").isEqualTo(g.get(0).getLedgerId());
            assertThat(p.numbers(topic)).as("sent while nothing is known").isEmpty();
        }
        JsonNode plan = p.placed(topic, 0);
        assertThat(position(plan.path("start"))).isEqualTo(g.get(2).getLedgerId() + ":0");
        p.assertArrived(topic, 10, 24);
    }
}
