// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.apache.pulsar.common.policies.data.ScalableSubscriptionType.STREAM;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.api.proto.ScalableConsumerType;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A sealed segment lives while a remote has not got all of it, whatever users try, and no longer. */
class PinLifeTest {
    private static final String PIN = "pulsar.repl.cluster-b";
    private static Cluster a;
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        a = ClusterSpec.named("cluster-a").start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    @AfterAll
    static void stop() throws Exception {
        a.close();
        b.close();
    }

    /** A namespace whose sealed segments go at once when nothing holds them. */
    private static void namespace(String ns) throws Exception {
        Federation.of(ns, a, b);
        a.admin().namespaces().setRetention(ns, new RetentionPolicies(0, 0));
    }

    private static void pause(String segment, boolean on) throws Exception {
        a.segment(segment).pauseReplication("cluster-b", on).get();
    }

    private static long backlog(String segment) throws Exception {
        return a.admin().scalableTopics().getSegmentSubscriptionBacklogAsync(segment, PIN).get();
    }

    private static List<String> subscriptions(String topic) throws Exception {
        return a.broker.getPulsarResources().getScalableTopicResources()
                .listSubscriptionsAsync(TopicName.get(topic)).get();
    }

    private static void gc(String topic) throws Exception {
        a.controller(topic).collectGarbage().get();
    }

    /** A topic with one sealed segment that has entries and is not replicated. */
    private static String sealedWithBacklog(String ns, String name) throws Exception {
        String topic = "topic://" + ns + "/" + name;
        Federation.topic(topic, 1, a, b);
        String segment = "segment://" + ns + "/" + name + "/0000-ffff-0";
        await().atMost(Duration.ofSeconds(20))
                .until(() -> a.segment(segment).getReplicators().containsKey("cluster-b"));
        pause(segment, true);
        Publish.v5(a, topic, 0, 20, 5);
        a.admin().scalableTopics().splitSegment(topic, 0);
        assertThat(backlog(segment)).isPositive();
        return segment;
    }

    @Test
    void usersCannotSeeMoveOrRemoveThePin() throws Exception {
        namespace("t/guarded");
        String topic = "topic://t/guarded/x";
        String segment = sealedWithBacklog("t/guarded", "x");
        long before = backlog(segment);
        var admin = a.admin().scalableTopics();
        assertThatThrownBy(() -> admin.deleteSubscription(topic, PIN))
                .isInstanceOf(PulsarAdminException.class).hasMessageContaining("refused");
        assertThatThrownBy(() -> admin.seekSubscription(topic, PIN, System.currentTimeMillis()))
                .isInstanceOf(PulsarAdminException.class).hasMessageContaining("refused");
        assertThatThrownBy(() -> admin.clearBacklog(topic, PIN))
                .isInstanceOf(PulsarAdminException.class).hasMessageContaining("refused");
        assertThatThrownBy(() -> admin.createSubscription(topic, "pulsar.repl.mine", STREAM))
                .isInstanceOf(PulsarAdminException.class).hasMessageContaining("refused");
        // the calls below the topic, which a super-user may make
        assertThatThrownBy(() -> admin.deleteSegmentSubscriptionAsync(segment, PIN).get())
                .isInstanceOf(ExecutionException.class);
        assertThatThrownBy(() -> admin.seekSegmentSubscriptionAsync(segment, PIN, 0).get())
                .isInstanceOf(ExecutionException.class);
        assertThatThrownBy(() -> admin.clearSegmentSubscriptionBacklogAsync(segment, PIN).get())
                .isInstanceOf(ExecutionException.class);
        assertThatThrownBy(() -> a.controller(topic).registerConsumer(PIN, "c", 1, ScalableConsumerType.STREAM, null)
                .get())
                .hasMessageContaining("refused");
        assertThatThrownBy(() -> a.segment(segment).unsubscribe(PIN).get()).hasMessageContaining("replication");
        assertThat(admin.getStats(topic).getSubscriptions()).isEmpty();
        assertThat(a.segment(segment).getSubscriptions()).isEmpty();
        assertThat(backlog(segment)).isEqualTo(before);
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).contains(segment);

        // a pin that somebody removed in the store is back before anything is collected
        a.broker.getPulsarResources().getScalableTopicResources().deleteSubscriptionAsync(TopicName.get(topic), PIN)
                .get();
        gc(topic);
        assertThat(subscriptions(topic)).containsExactly(PIN);
        assertThat(SegmentLog.segments(a, topic)).contains(segment);
    }

    @Test
    void aDrainedSegmentGoesAndAnUndrainedOneStays() throws Exception {
        namespace("t/drain");
        String topic = "topic://t/drain/x";
        String segment = sealedWithBacklog("t/drain", "x");
        gc(topic);
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).contains(segment);
        assertThat(SegmentLog.read(a, segment)).isNotEmpty();
        pause(segment, false);
        await().atMost(Duration.ofSeconds(30)).until(() -> backlog(segment) == 0);
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).doesNotContain(segment).hasSize(2);
        await().atMost(Duration.ofSeconds(10)).until(() ->
                a.broker.getBrokerService().getTopicIfExists(segment).get().isEmpty());

        // the remote forgets the stream
        String there = "segment://t/drain/x/0000-ffff-0";
        assertThat(b.segment(there).dedupStatusJson()).contains("cluster-a");
        a.controller(topic).forgetGoneStreams().get();
        assertThat(b.segment(there).dedupStatusJson()).doesNotContain("cluster-a");
    }

    @Test
    void anEmptyMiddleSegmentStaysWhileItsAncestorHasBacklog() throws Exception {
        namespace("t/middle");
        String topic = "topic://t/middle/x";
        String first = sealedWithBacklog("t/middle", "x");
        String middle = "segment://t/middle/x/0000-7fff-1";
        a.admin().scalableTopics().splitSegment(topic, 1);
        assertThat(SegmentLog.read(a, middle)).isEmpty();
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).contains(first, middle);
        pause(first, false);
        await().atMost(Duration.ofSeconds(30)).until(() -> backlog(first) == 0 && backlog(middle) == 0);
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).doesNotContain(first, middle);
    }

    @Test
    void theTimeToLiveBoundsThePin() throws Exception {
        namespace("t/ttl");
        String topic = "topic://t/ttl/x";
        String segment = sealedWithBacklog("t/ttl", "x");
        a.admin().namespaces().setNamespaceMessageTTL("t/ttl", 1);
        await().atMost(Duration.ofSeconds(30)).pollInterval(Duration.ofMillis(300)).until(() -> {
            a.segment(segment).checkMessageExpiry(); // the broker's own round, which comes every five minutes
            return backlog(segment) == 0;
        });
        gc(topic);
        assertThat(SegmentLog.segments(a, topic)).doesNotContain(segment);
    }

    @Test
    void uninstallingTakesThePinsAway() throws Exception {
        Cluster c = ClusterSpec.named("cluster-c").start(Dirs.fresh());
        try {
            Federation.introduce(c, b);
            Federation.create("t/leave", c, b);
            Federation.replicate(c, "t/leave", Set.of("cluster-c", "cluster-b"));
            String topic = "topic://t/leave/x";
            Federation.topic(topic, 1, c, b);
            var store = c.broker.getPulsarResources().getScalableTopicResources();
            await().atMost(Duration.ofSeconds(20)).until(() -> store.listSubscriptionsAsync(TopicName.get(topic)).get()
                    .equals(List.of(PIN)));
            c.spec.key("georepUninstall", true);
            c.restart();
            var now = c.broker.getPulsarResources().getScalableTopicResources();
            await().atMost(Duration.ofSeconds(20)).until(() -> now.listSubscriptionsAsync(TopicName.get(topic)).get()
                    .isEmpty()); // nobody has asked for the topic
            Publish.v5(c, topic, 0, 5, 1);
            assertThat(c.segment("segment://t/leave/x/0000-ffff-0").getReplicators()).isEmpty();
        } finally {
            c.close();
        }
    }

    @Test
    void existingSegmentsArePinnedWhenReplicationIsAdded() throws Exception {
        Federation.create("t/added", a, b);
        a.admin().namespaces().setRetention("t/added", new RetentionPolicies(-1, -1));
        String topic = "topic://t/added/x";
        Federation.topic(topic, 1, a, b);
        String sealed = "segment://t/added/x/0000-ffff-0";
        Publish.v5(a, topic, 0, 20, 5);
        a.admin().scalableTopics().splitSegment(topic, 0);
        a.admin().namespaces().unload("t/added");
        assertThat(a.broker.getBrokerService().getTopics().containsKey(sealed)).isFalse();
        Federation.replicate(a, "t/added", Set.of("cluster-a", "cluster-b"));
        // nobody touches the sealed segment, and yet it is loaded, pinned and replicated
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            assertThat(subscriptions(topic)).containsExactly(PIN);
            assertThat(a.broker.getBrokerService().getTopics().containsKey(sealed)).isTrue();
        });
        await().atMost(Duration.ofSeconds(30)).until(() -> backlog(sealed) == 0);
        Federation.stop(a, "t/added");
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(subscriptions(topic)).isEmpty());
        assertThat(a.segment(sealed).getManagedLedger().getCursors()).isEmpty();
    }
}
