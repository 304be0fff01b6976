// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.it.HeldSegment.Hold;
import georep.it.HeldSegment.What;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.broker.service.scalable.ReplicatedScalableTopicService;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Two brokers have a controller of one topic, and the lead goes from one to the other while the one is at work. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class StaleLeaderTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.start(false, s -> s.name.equals("cluster-a") ? s.zookeeper().with(c ->
                c.setTopicFactoryClassName(HeldSegment.Factory.class.getName())) : s);
        p.a.addBroker();
        Federation.introduce(p.a, p.b);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static ReplicatedController controller(PulsarService broker, String topic) throws Exception {
        return (ReplicatedController) broker.getBrokerService().getScalableTopicService()
                .getOrCreateController(TopicName.get(topic)).get(30, TimeUnit.SECONDS);
    }

    private PulsarService leader(String topic) throws Exception {
        for (PulsarService x : p.a.brokers()) {
            if (controller(x, topic).isLeader()) {
                return x;
            }
        }
        throw new AssertionError("nobody leads " + topic);
    }

    private PulsarService other(PulsarService than) {
        return p.a.brokers().stream().filter(x -> x != than).findFirst().orElseThrow();
    }

    /** The lock goes, as with a session that has expired, until the other broker has it. */
    private PulsarService depose(PulsarService leader, String topic) throws Exception {
        PulsarService next = other(leader);
        String lock = p.a.plugin().records().resources().controllerLockPath(TopicName.get(topic));
        long term = Layouts.term(p.a, topic);
        await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(100)).ignoreExceptions().until(() -> {
            String holder = p.a.store().get(lock).get().map(r -> new String(r.getValue(), StandardCharsets.UTF_8))
                    .orElse("");
            if (holder.contains(leader.getBrokerId())) {
                p.a.store().delete(lock, Optional.empty()).get();
            }
            return holder.contains(next.getBrokerId());
        });
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            assertThat(controller(next, topic).isLeader()).as("who has the lock leads").isTrue();
            assertThat(controller(next, topic).convergence().on()).isTrue();
            assertThat(controller(leader, topic).isLeader()).as("and nobody else").isFalse();
            assertThat(Layouts.term(p.a, topic)).isGreaterThan(term);
        });
        return next;
    }

    /** Ranges of the active segments tile the ring, and no id was given twice or left out. */
    private void assertRing(String topic, int... starts) throws Exception {
        List<SegmentInfo> active = Layouts.stored(p.a, topic).getSegments().values().stream()
                .filter(SegmentInfo::isActive).sorted((x, y) -> x.hashRange().start() - y.hashRange().start()).toList();
        assertThat(active).extracting(s -> s.hashRange().start()).containsExactlyElementsOf(
                Arrays.stream(starts).boxed().toList());
        for (int i = 0; i < active.size(); i++) {
            assertThat(active.get(i).hashRange().end()).isEqualTo(i + 1 < starts.length ? starts[i + 1] - 1 : 0xffff);
        }
        assertThat(Layouts.stored(p.a, topic).getNextSegmentId()).as("ids")
                .isEqualTo(Layouts.stored(p.a, topic).getSegments().size());
    }

    /**
     * A leader is about to seal a segment when another broker gets the lead: what it writes then is late, whether the
     * new leader has changed the layout already or has not. Nothing of it is stored, and the new leader ends what was
     * begun.
     */
    @Test
    void whatADeposedLeaderWritesIsLate() throws Exception {
        String t = p.topic("stale", 2, 2);
        for (PulsarService x : p.a.brokers()) {
            controller(x, t);
        }
        PulsarService first = leader(t);
        try (Traffic x = Traffic.start(p.a, t, 50, 0, 300); Traffic y = Traffic.start(p.b, t, 50, 1_000_000, 300);
                LogLines log = LogLines.of("georep.plugin.control.ConvergeDriver", Level.WARN)) {
            x.more(200);
            PulsarService second = deposedInMidSplit(t, first, 0, log, () -> { });
            assertRing(t, 0, 0x8000);
            end(second, t, 0);
            assertRing(t, 0, 0x4000, 0x8000);
            awaitB(t, 0, 0x4000, 0x8000);
            x.more(200);
            PulsarService third = deposedInMidSplit(t, second, 0, log, () -> controller(first, t)
                    .splitSegment(id(active(p.a, t, 0xffff))).get(60, TimeUnit.SECONDS));
            assertThat(third).isSameAs(first);
            assertRing(t, 0, 0x4000, 0x8000, 0xc000);
            end(third, t, 0);
            assertRing(t, 0, 0x2000, 0x4000, 0x8000, 0xc000);
            awaitB(t, 0, 0x2000, 0x4000, 0x8000, 0xc000);
            x.more(200);
            y.more(200);
            x.finish();
            y.finish();
        }
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
        assertNobodyKeeps(t);
    }

    /** A topic is deleted that two brokers have controllers of: each takes the lock once the other's is gone. */
    private void assertNobodyKeeps(String topic) {
        TopicName name = TopicName.get(topic);
        ScalableTopicResources records = p.a.plugin().records().resources();
        await().atMost(Duration.ofSeconds(30)).ignoreExceptions().until(() -> {
            if (stored(records.topicPath(name))) { // fails where a lock is back before the record's node goes
                p.a.admin().scalableTopics().deleteScalableTopic(topic, true);
            }
            return !stored(records.topicPath(name));
        });
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            for (PulsarService x : p.a.brokers()) {
                assertThat(((ReplicatedScalableTopicService) x.getBrokerService().getScalableTopicService()).topics())
                        .as("controllers").doesNotContain(name);
            }
            assertThat(p.a.store().get(records.controllerLockPath(name)).get()).as("lock").isEmpty();
            assertThat(records.listSubscriptionsAsync(name).get()).as("pins").isEmpty();
            assertThat(p.b.admin().scalableTopics().listScalableTopics(SourcePair.NS)).doesNotContain(topic);
        });
    }

    /** Not an empty node, which ZooKeeper keeps above a lock, and for a minute after it. */
    private boolean stored(String path) throws Exception {
        return p.a.store().get(path).get().filter(r -> r.getValue().length > 0).isPresent();
    }

    private interface Meanwhile {
        void run() throws Exception;
    }

    /** What the old leader had begun to split, and may have sealed: then the new one may have ended it already. */
    private void end(PulsarService leader, String topic, int hash) throws Exception {
        try {
            controller(leader, topic).splitSegment(id(active(p.a, topic, hash))).get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            assertThat(e).hasMessageContaining("no-segment");
        }
    }

    /** Returns the new leader, once what the old one was at is refused. */
    private PulsarService deposedInMidSplit(String t, PulsarService leader, int hash, LogLines log,
                                            Meanwhile meanwhile) throws Exception {
        String segment = active(p.a, t, hash);
        long term = Layouts.term(p.a, t);
        CompletableFuture<?> split;
        PulsarService next;
        try (Hold hold = HeldSegment.hold(segment, What.SEAL)) {
            split = controller(leader, t).splitSegment(id(segment));
            await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0);
            next = depose(leader, t);
            meanwhile.run();
        }
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(log.with("layout change failed"))
                .anyMatch(l -> l.contains("the topic has a leader of term") && l.endsWith(", not " + term)));
        assertThat(split).as("the wish").failsWithin(Duration.ofSeconds(30));
        assertThat(controller(leader, t).convergence().on()).as("it decides nothing any more").isFalse();
        return next;
    }

    private void awaitB(String topic, Integer... starts) {
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() ->
                assertThat(Layouts.starts(p.b, topic)).containsExactly(starts));
    }
}
