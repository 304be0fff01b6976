// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A broker that the plugin does not fit: it says what is missing and leaves everything else alone. */
class SelfCheckTest {
    private Cluster a;
    private Cluster b;

    @AfterEach
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private void classicReplicates(String ns) throws Exception {
        String topic = "persistent://" + ns + "/classic";
        try (var ca = a.v4(); var cb = b.v4(); Consumer<byte[]> consumer = cb.newConsumer().topic(topic)
                .subscriptionName("s").subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
                var producer = ca.newProducer().topic(topic).create()) {
            for (int i = 0; i < 10; i++) {
                producer.send(("m" + i).getBytes());
            }
            for (int i = 0; i < 10; i++) {
                var m = consumer.receive(20, java.util.concurrent.TimeUnit.SECONDS);
                assertThat(m).as("message " + i).isNotNull();
                assertThat(new String(m.getValue())).isEqualTo("m" + i);
                assertThat(m.getReplicatedFrom()).isEqualTo("cluster-a");
            }
        }
        // the broker's own replicator and deduplication
        PersistentTopic t = (PersistentTopic) a.broker.getBrokerService().getTopicIfExists(topic).get().orElseThrow();
        assertThat(t.getClass()).isEqualTo(PersistentTopic.class);
        assertThat(t.getReplicators().get("cluster-b").getClass().getSimpleName()).isEqualTo("GeoPersistentReplicator");
    }

    @Test
    void classicTopicsAreTheBrokersOwn() throws Exception {
        a = ClusterSpec.named("cluster-a").start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.of("t/classic", a, b);
        Federation.topic("topic://t/classic/scalable", 1, a, b);
        Publish.v5(a, "topic://t/classic/scalable", 0, 20, 4);
        classicReplicates("t/classic");
        await().atMost(Duration.ofSeconds(20)).until(() -> !SegmentLog.read(b,
                "segment://t/classic/scalable/0000-ffff-0").isEmpty());
    }

    @Test
    void aMissingMemberIsNamedAndNothingScalableStarts() throws Exception {
        String missing = "org.apache.pulsar.broker.service.BrokerService#noSuchField";
        a = ClusterSpec.named("cluster-a").key("georepRequiredMembers", missing).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        assertThat(a.plugin().usable()).isFalse();
        assertThat(a.plugin().problems()).isEqualTo(List.of("broker member missing: " + missing));
        Http.Answer answer = Http.get(a.broker, "/admin/v2/scalable-repl/t/check/x/state", null);
        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.body()).contains(missing);
        assertThat(Http.get(a.broker, "/metrics/", null).body())
                .contains("pulsar_georep_usable{cluster=\"cluster-a\"} 0");

        Federation.of("t/check", a, b);
        Federation.topic("topic://t/check/x", 1, a, b);
        Publish.v5(a, "topic://t/check/x", 0, 20, 4);
        PersistentTopic segment = (PersistentTopic) a.broker.getBrokerService()
                .getTopicIfExists("segment://t/check/x/0000-ffff-0").get().orElseThrow();
        assertThat(segment.getReplicators()).isEmpty(); // neither ours nor the stock one, which would loop
        assertThat(segment.getMessageDeduplication().getClass().getSimpleName()).isEqualTo("MessageDeduplication");
        assertThat(a.broker.getBrokerService().getScalableTopicService().getClass().getSimpleName())
                .isEqualTo("ScalableTopicService");
        classicReplicates("t/check");
    }

    @Test
    void aBadKeyIsNamed() throws Exception {
        a = ClusterSpec.named("cluster-a").key("georepSlowPathBytesPerSecond", 0).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").withoutNar().start(Dirs.fresh());
        assertThat(a.plugin().problems()).isEqualTo(List.of("configuration: georepSlowPathBytesPerSecond=0: must be "
                + "1..9223372036854775807"));
        // the factory alone: no servlet, no pins, so nothing may start
        assertThat(b.plugin()).isNull();
        Federation.of("t/key", a, b);
        Federation.topic("topic://t/key/x", 1, a, b);
        PersistentTopic segment = (PersistentTopic) b.broker.getBrokerService()
                .getTopicIfExists("segment://t/key/x/0000-ffff-0").get().orElseThrow();
        assertThat(segment.getReplicators()).isEmpty();
    }
}
