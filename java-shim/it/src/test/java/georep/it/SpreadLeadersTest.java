// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Topics whose layouts converge are led by two brokers of each cluster: whichever is called, all leaders hear it. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 200, unit = TimeUnit.SECONDS)
class SpreadLeadersTest {
    private static final String EXCHANGE = "/admin/v2/scalable-repl/exchange";
    private static final String ALONE = "alone/ns";
    private static final ObjectMapper JSON = new ObjectMapper();
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        // states are told again together, and segments are spread over the brokers as well
        p = SourcePair.start(false, s -> s.zookeeper().key("georepAntiEntropySeconds", 12)
                .with(c -> c.setDefaultNumberOfNamespaceBundles(4)));
        p.a.addBroker();
        p.b.addBroker();
        Federation.introduce(p.a, p.b);
        Federation.create(ALONE, p.b);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    // ------------------------------------------------------------------ who leads

    private static String lock(Cluster c, String topic) {
        return c.plugin().records().resources().controllerLockPath(TopicName.get(topic));
    }

    /** The broker that leads a topic as the store has it. */
    private static PulsarService leader(Cluster c, String topic) throws Exception {
        String holder = c.store().get(lock(c, topic)).get().map(r -> new String(r.getValue(), StandardCharsets.UTF_8))
                .orElse("nobody");
        return c.brokers().stream().filter(x -> holder.contains(x.getBrokerId())).findFirst()
                .orElseThrow(() -> new AssertionError(holder + " leads " + topic + " at " + c.name));
    }

    private static ReplicatedController controller(PulsarService broker, String topic) throws Exception {
        return (ReplicatedController) broker.getBrokerService().getScalableTopicService()
                .getOrCreateController(TopicName.get(topic)).get(30, TimeUnit.SECONDS);
    }

    private static JsonNode peer(Cluster c, String topic) throws Exception {
        return controller(leader(c, topic), topic).convergence().status().path("peers").path(0);
    }

    /** Four topics, one for each pair of leaders; the first two have the same leader at A, and two at B. */
    private List<String> spread(String name) throws Exception {
        String ns = "t/" + name;
        Federation.create(ns, p.a, p.b);
        List<String> all = new ArrayList<>();
        for (PulsarService atA : p.a.brokers()) {
            for (PulsarService atB : p.b.brokers()) { // before a leader calls the other cluster, and so makes one there
                String t = "topic://" + ns + "/x" + all.size();
                Federation.topic(t, 1, p.a, p.b);
                controller(atA, t);
                controller(atB, t);
                assertThat(leader(p.a, t)).as("leader of %s at A", t).isSameAs(atA);
                assertThat(leader(p.b, t)).as("leader of %s at B", t).isSameAs(atB);
                all.add(t);
            }
        }
        for (Cluster c : List.of(p.a, p.b)) {
            Federation.replicate(c, ns, Set.of(p.a.name, p.b.name));
        }
        awaitMet(all);
        assertThat(all).hasSize(4);
        return all;
    }

    /** Every leader knows what the other cluster has, and that it is the same. */
    private void awaitMet(List<String> topics) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (String t : topics) {
                for (Cluster c : List.of(p.a, p.b)) {
                    JsonNode peer = peer(c, t);
                    assertThat(peer.path("known").asBoolean()).as("%s at %s: %s", t, c.name, peer).isTrue();
                    assertThat(peer.path("diverged")).as("%s at %s: %s", t, c.name, peer).isEmpty();
                    assertThat(peer.path("acknowledgedEpoch").asLong()).as("%s at %s: %s", t, c.name, peer)
                            .isEqualTo(Layouts.stored(c, t).getEpoch());
                }
            }
        });
    }

    private void awaitStarts(List<String> topics, Integer... starts) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (String t : topics) {
                for (Cluster c : List.of(p.a, p.b)) {
                    assertThat(Layouts.starts(c, t)).as("layout of %s at %s", t, c.name).containsExactly(starts);
                }
            }
        });
    }

    private static List<CompletableFuture<Void>> split(Cluster c, List<String> topics, int hash) throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String t : topics) {
            all.add(c.admin().scalableTopics().splitSegmentAsync(t, id(active(c, t, hash))));
        }
        return all;
    }

    /** Publishers of every topic on both clusters. */
    private Traffics load(List<String> topics) throws Exception {
        Traffics all = new Traffics();
        for (String t : topics) {
            all.start(p.a, t, 50, 0, 60);
            all.start(p.b, t, 50, 1_000_000, 60);
        }
        return all;
    }

    private void assertAllCopied(List<String> topics) throws Exception {
        for (String t : topics) {
            assertCopied(p.a, p.b, t);
            assertCopied(p.b, p.a, t);
        }
    }

    /** Splits of all leaders, of one cluster and then of both at once; calls that belong to two leaders are divided. */
    @Test
    void whatAnyLeaderSplitsAllFollow() throws Exception {
        List<String> all = spread("split");
        try (Traffics load = load(all); LogLines log = LogLines.of("georep.plugin.http.ExchangeSplit", Level.DEBUG)) {
            load.more(60);
            for (CompletableFuture<Void> f : split(p.a, all, 0)) {
                f.get(60, TimeUnit.SECONDS);
            }
            awaitStarts(all, 0, 0x8000);
            List<CompletableFuture<Void>> both = split(p.a, all, 0);
            both.addAll(split(p.b, all, 0xffff));
            for (CompletableFuture<Void> f : both) {
                f.get(60, TimeUnit.SECONDS);
            }
            awaitStarts(all, 0, 0x4000, 0x8000, 0xc000);
            await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
                for (Cluster c : List.of(p.a, p.b)) {
                    assertThat(log.with("a call of " + c.name)).as("calls of " + c.name).anyMatch(l ->
                            l.contains("is divided"));
                }
                assertThat(log.with("is redirected to")).as("calls for one leader").isNotEmpty();
            });
            awaitMet(all);
            load.more(60);
            load.finish();
        }
        for (String t : all) {
            assertThat(Layouts.sealed(p.a, t)).as("splits of %s at A", t).hasSize(3);
            assertThat(Layouts.sealed(p.b, t)).as("splits of %s at B", t).hasSize(3);
        }
        assertAllCopied(all);
    }

    // ------------------------------------------------------------------ one call

    /** What an earlier leader at A would say of a topic: that of B answers that it knows better, and what it has. */
    private ObjectNode state(String topic) throws Exception {
        ScalableTopicMetadata m = Layouts.stored(p.a, topic);
        ObjectNode s = JSON.createObjectNode().put("cluster", p.a.name).put("topic", topic).put("epoch", m.getEpoch())
                .put("instance", m.getProperties().get("georep.instance"))
                .put("leaderTerm", Layouts.term(p.a, topic) - 1);
        ArrayNode segments = s.putObject("shape").put("profile", "PROFILE_M1").putArray("segments");
        m.getSegments().values().stream().filter(SegmentInfo::isActive).map(x -> x.hashRange().start()).sorted()
                .forEach(start -> segments.addObject().put("start", start));
        s.putObject("caps").put("maxSegments", 64).put("maxBuckets", 64);
        return s;
    }

    private ObjectNode strange(String topic) {
        ObjectNode s = JSON.createObjectNode().put("cluster", p.a.name).put("topic", topic).put("instance", "0123")
                .put("leaderTerm", 1);
        s.putObject("shape").put("profile", "PROFILE_M1").putArray("segments").addObject().put("start", 0);
        s.putObject("caps").put("maxSegments", 64).put("maxBuckets", 64);
        return s;
    }

    private Http.Answer tell(PulsarService broker, ObjectNode... states) throws Exception {
        ObjectNode r = JSON.createObjectNode().put("protocolVersion", 1).put("cluster", p.a.name);
        r.putArray("states").addAll(List.of(states));
        return Http.post(broker, EXCHANGE, null, r.toString());
    }

    /** The topic's leader at B has answered. */
    private void answered(JsonNode answer, String topic) throws Exception {
        assertThat(answer.path("topic").asText()).isEqualTo(topic);
        assertThat(answer.path("code").asText()).as("%s", answer).isEqualTo("CONVERGE_CODE_STALE");
        JsonNode own = answer.path("state");
        assertThat(own.path("topic").asText()).as("%s", answer).isEqualTo(topic);
        assertThat(own.path("cluster").asText()).as("%s", answer).isEqualTo(p.b.name);
        assertThat(own.path("leaderTerm").asLong()).as("%s", answer).isEqualTo(Layouts.term(p.b, topic));
    }

    /** Either broker answers for both, each state in its place; where all are the other's, the caller goes there. */
    @Test
    void oneCallIsAnsweredForAllItsLeaders() throws Exception {
        List<String> all = spread("call");
        String unknown = "topic://t/ns/nosuch";
        for (PulsarService broker : p.b.brokers()) {
            Http.Answer r = tell(broker, state(all.get(0)), state(all.get(1)), strange(unknown), state(all.get(2)),
                    state(all.get(3)));
            assertThat(r.status()).as(r.body()).isEqualTo(200);
            assertThat(r.json().path("cluster").asText()).isEqualTo(p.b.name);
            JsonNode answers = r.json().path("answers");
            assertThat(answers).hasSize(5);
            answered(answers.get(0), all.get(0));
            answered(answers.get(1), all.get(1));
            assertThat(answers.get(2).path("topic").asText()).isEqualTo(unknown);
            assertThat(answers.get(2).path("code").asText()).isEqualTo("CONVERGE_CODE_NO_TOPIC");
            answered(answers.get(3), all.get(2));
            answered(answers.get(4), all.get(3));
        }
        for (PulsarService broker : p.b.brokers()) {
            List<String> its = new ArrayList<>();
            for (String t : all) {
                if (leader(p.b, t) == broker) {
                    its.add(t);
                }
            }
            assertThat(its).hasSize(2);
            PulsarService other = p.b.brokers().stream().filter(x -> x != broker).findFirst().orElseThrow();
            Http.Answer there = tell(other, state(its.get(0)), state(its.get(1)));
            assertThat(there.status()).as(there.body()).isEqualTo(307);
            assertThat(there.location()).isEqualTo(Cluster.adminUrl(broker) + EXCHANGE);
            Http.Answer r = tell(broker, state(its.get(0)), state(its.get(1)));
            assertThat(r.status()).as(r.body()).isEqualTo(200);
            answered(r.json().path("answers").path(0), its.get(0));
            answered(r.json().path("answers").path(1), its.get(1));
        }
    }

    /**
     * A lock says that a topic is led by somebody who is no broker of the cluster: nobody is sent there, and the other
     * topics of a call are answered.
     */
    @Test
    void nobodyIsSentToWhoIsNoBrokerOfTheCluster() throws Exception {
        List<String> all = spread("forged");
        String t = "topic://" + ALONE + "/forged";
        p.b.admin().scalableTopics().createScalableTopic(t, 1);
        for (String who : List.of(JSON.writeValueAsString(p.a.broker.getBrokerId()), "\"nowhere.invalid:8080\"",
                "\"../brokers\"", "\"\"", "no JSON")) {
            p.b.store().put(lock(p.b, t), who.getBytes(StandardCharsets.UTF_8), Optional.empty()).get();
            for (PulsarService broker : p.b.brokers()) {
                Http.Answer r = tell(broker, state(all.get(0)), strange(t), state(all.get(1)));
                assertThat(r.status()).as(who + ": " + r.body()).isEqualTo(200);
                JsonNode answers = r.json().path("answers");
                answered(answers.path(0), all.get(0));
                assertThat(answers.path(1).path("code").asText()).as(who).isEqualTo("CONVERGE_CODE_BUSY");
                assertThat(answers.path(1).path("text").asText()).as(who).contains("controller leader");
                answered(answers.path(2), all.get(1));
                assertThat(tell(broker, strange(t)).status()).as(who).isEqualTo(200);
                Http.Answer state = Http.get(broker, "/admin/v2/scalable-repl/" + ALONE + "/forged/state", null);
                assertThat(state.status()).as("no answer that means \"no such topic\", to %s: %s", who, state.body())
                        .isEqualTo(503);
                assertThat(state.location()).as(who).isNull();
            }
        }
    }
}
