// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** Three clusters whose layouts follow each other, and what tests of that ask of them. */
final class Trio implements AutoCloseable {
    static final int KEYS = 50;
    private static final int APART = 10_000_000; // numbers of one cluster's messages

    final Cluster a;
    final Cluster b;
    final Cluster c;
    final List<Cluster> all;
    private int loads;

    private Trio(Cluster a, Cluster b, Cluster c) {
        this.a = a;
        this.b = b;
        this.c = c;
        this.all = List.of(a, b, c);
    }

    static Trio start(UnaryOperator<ClusterSpec> every, UnaryOperator<ClusterSpec> third) throws Exception {
        Trio t = new Trio(every.apply(ClusterSpec.named("cluster-a")).start(Dirs.fresh()),
                every.apply(ClusterSpec.named("cluster-b")).dedup(true).start(Dirs.fresh()),
                third.apply(every.apply(ClusterSpec.named("cluster-c"))).start(Dirs.fresh()));
        t.introduce();
        return t;
    }

    void introduce() throws Exception {
        Federation.introduce(a, b, c);
    }

    /** A topic in a namespace of its own, made before anything replicates: layouts that never met. */
    String strangers(String namespace, int segmentsA, int segmentsB, int segmentsC) throws Exception {
        String t = "topic://" + namespace + "/x";
        Federation.create(namespace, a, b, c);
        Federation.topic(t, segmentsA, a);
        Federation.topic(t, segmentsB, b);
        Federation.topic(t, segmentsC, c);
        return t;
    }

    /** The same, and the namespace replicates among all. */
    String topic(String namespace, int segmentsA, int segmentsB, int segmentsC) throws Exception {
        String t = strangers(namespace, segmentsA, segmentsB, segmentsC);
        Federation.of(namespace, a, b, c);
        return t;
    }

    /** Messages from these clusters from now on. */
    Traffics load(String topic, int perSecond, Cluster... from) throws Exception {
        Traffics l = new Traffics();
        for (Cluster x : from) {
            int first = nextNumber();
            loads++;
            l.start(x, topic, KEYS, first, perSecond);
        }
        return l;
    }

    /** Of the next load's first message; all earlier ones have smaller numbers. */
    int nextNumber() {
        return (loads + 1) * APART;
    }

    void awaitStarts(String topic, Integer... starts) {
        awaitStarts(all, topic, starts);
    }

    static void awaitStarts(List<Cluster> clusters, String topic, Integer... starts) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster x : clusters) {
                assertThat(Layouts.starts(x, topic)).as("layout of %s", x.name).containsExactly(starts);
            }
        });
    }

    /** Waits until every cluster knows that the others have its layout, and nothing is behind a cursor. */
    void awaitQuiet(String topic) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster x : all) {
                for (Cluster of : all) {
                    if (x == of) {
                        continue;
                    }
                    JsonNode p = peer(x, topic, of);
                    assertThat(p.path("known").asBoolean()).as("%s of %s", x.name, p).isTrue();
                    assertThat(p.path("diverged")).as("%s of %s", x.name, p).isEmpty();
                    assertThat(p.path("acknowledgedEpoch").asLong()).as("%s of %s", x.name, p)
                            .isEqualTo(Layouts.stored(x, topic).getEpoch());
                    assertThat(SourcePair.backlogs(x, topic, of.name)).as("%s to %s", x.name, of.name)
                            .containsOnly(0L);
                }
            }
        });
    }

    /** ConvergeStatus of the topic's leader. */
    static JsonNode status(Cluster at, String topic) throws Exception {
        return at.controller(topic).convergence().status();
    }

    /** What it knows of another cluster. */
    static JsonNode peer(Cluster at, String topic, Cluster of) throws Exception {
        for (JsonNode p : status(at, topic).path("peers")) {
            if (p.path("cluster").asText().equals(of.name)) {
                return p;
            }
        }
        throw new AssertionError(at.name + " does not know " + of.name);
    }

    /** Waits until the first cluster has been told that these boundaries are cold at the other, and no others. */
    static void awaitCold(Cluster at, String topic, Cluster of, Integer... boundaries) {
        await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(() -> {
            List<Integer> cold = new ArrayList<>();
            peer(at, topic, of).path("cold").forEach(n -> cold.add(n.asInt()));
            assertThat(cold).as("cold at %s, as %s knows", of.name, at.name).containsExactly(boundaries);
        });
    }

    static List<String> dissent(Cluster at, String topic) throws Exception {
        List<String> names = new ArrayList<>();
        status(at, topic).path("dissent").forEach(n -> names.add(n.asText()));
        return names;
    }

    /** An operator asks to merge the segments that meet at a boundary. */
    static Http.Answer merge(Cluster x, String topic, int boundary) throws Exception {
        return merge(x, topic, boundary - 1, boundary);
    }

    static Http.Answer merge(Cluster x, String topic, int oneHash, int otherHash) throws Exception {
        return Http.post(x.broker, "/admin/v2/scalable/" + local(topic) + "/merge/" + id(active(x, topic, oneHash))
                + "/" + id(active(x, topic, otherHash)), null, "");
    }

    static Http.Answer cancelMark(Cluster x, String topic, int boundary) throws Exception {
        return Http.post(x.broker, "/admin/v2/scalable-repl/" + local(topic) + "/cancel-mark", null,
                "{\"boundary\":" + boundary + "}");
    }

    private static String local(String topic) {
        return topic.substring("topic://".length());
    }

    /** Epochs of the stored layouts: how often each was changed. */
    List<Long> epochs(String topic) throws Exception {
        List<Long> epochs = new ArrayList<>();
        for (Cluster x : all) {
            epochs.add(Layouts.stored(x, topic).getEpoch());
        }
        return epochs;
    }

    /** How counters rise from every cluster to every other. */
    List<Rise> rises(String... counters) {
        List<Rise> rises = new ArrayList<>();
        for (Cluster from : all) {
            all.stream().filter(to -> to != from).forEach(to -> rises.add(new Rise(from, to, counters)));
        }
        return rises;
    }

    static long sum(List<Rise> rises, String counter) {
        return rises.stream().mapToLong(r -> r.of(counter)).sum();
    }

    /** Each has the messages of each other: none lost, none twice, order per key as there. */
    void assertCopiedEverywhere(String topic) throws Exception {
        for (Cluster from : all) {
            for (Cluster to : all) {
                if (from != to) {
                    assertCopied(from, to, topic);
                }
            }
        }
    }

    @Override
    public void close() throws Exception {
        for (Cluster x : all) {
            x.close();
        }
    }
}
