// SPDX-License-Identifier: Apache-2.0
package georep.idle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.plugin.GeorepConfig;
import georep.plugin.control.PeerExchange;
import georep.plugin.source.SourceBroker;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.broker.service.scalable.ReplicatedScalableTopicService;
import org.apache.pulsar.broker.service.scalable.TopicConvergence;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException.ConflictException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * What it costs that clusters repeat to each other the layouts of topics on which nothing happens: calls, topics per
 * call, bytes, and CPU. Three clusters run in this process; each leads the same replicated topics, of one segment each.
 *
 * <p>CPU is that of the whole process in the median minute with {@code georepConvergence} on, less that in the median
 * minute with it off, which are measured half before and half after: everything is in it (timers, HTTP on both sides,
 * garbage collection). The median, because brokers do much at once now and then: all topics look at all their segments
 * every fifth minute, and a young JVM compiles. The key is switched in place, and all leaders look at it at once: same
 * brokers, same topics, same replicators, all idle.
 *
 * <p>Environment: TOPICS (1000), SECONDS (300) of each kind, whole minutes or less than one, ANTI_ENTROPY (60 s,
 * georepAntiEntropySeconds), DEMO_HOME (the source tree).
 */
public final class ConvergeIdle {
    private static final String NAMESPACE = "idle/converge";
    private static final List<String> NAMES = List.of("a", "b", "c");
    private static final int PEERS = NAMES.size() - 1;
    /** Topics that are made at a time. */
    private static final int AT_ONCE = 16;
    private static final int MINUTE = 60;
    private static final int SETTLE_SECONDS = 30;
    private static final double TARGET_PERCENT = 2;
    /** Where the difference is below that, other things have cost more than what is measured. */
    private static final double NOISE_PERCENT = -0.5;
    /** Ticks that are far away are rounded up to so much, to come together. */
    private static final int ROUNDING_SECONDS = 5;

    private final int topics = Span.number("TOPICS", 1000);
    private final int spans = Math.max(1, Span.number("SECONDS", 300) / MINUTE);
    private final int span = Math.min(MINUTE, Span.number("SECONDS", 300));
    private final int seconds = spans * span;
    private final int antiEntropy = Span.number("ANTI_ENTROPY", 60);
    private final List<Cluster> clusters = new ArrayList<>();

    /** What all brokers have said to all others: their own counters, since the start. */
    private record Said(long calls, long failures, long states, long bytes) {
        Said since(Said earlier) {
            return new Said(calls - earlier.calls, failures - earlier.failures, states - earlier.states,
                    bytes - earlier.bytes);
        }
    }

    private ConvergeIdle() {
    }

    /** Ends the process itself: brokers leave threads behind. */
    public static void main(String[] args) {
        int status = 1;
        try {
            status = new ConvergeIdle().run() ? 0 : 1;
        } catch (Exception | LinkageError e) {
            e.printStackTrace(System.out);
            System.out.println("BENCH-CONVERGE-IDLE FAILED " + e);
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private boolean run() throws Exception {
        start();
        makeTopics();
        Span.say("%d clusters have %d topics each", NAMES.size(), topics);
        for (Cluster c : clusters) {
            Federation.replicate(c, NAMESPACE, Set.copyOf(NAMES));
        }
        Span.await("every segment to be replicated to both others",
                () -> clusters.stream().allMatch(c -> supported(c) == (long) topics * PEERS));
        Span.say("all of them replicate to both others; georepConvergence=false");
        TimeUnit.SECONDS.sleep(2 * SETTLE_SECONDS);
        List<Double> before = Span.cpus((spans + 1) / 2, span);

        converge(true);
        Span.await("all layouts to be known everywhere", () -> clusters.stream().allMatch(this::converged));
        Span.say("all layouts are known everywhere; georepConvergence=true");
        TimeUnit.SECONDS.sleep(SETTLE_SECONDS);
        Said earlier = said();
        List<Double> on = Span.cpus(spans, span);
        Said said = said().since(earlier);
        boolean live = clusters.stream().allMatch(this::converged);

        converge(false);
        Span.say("georepConvergence=false again");
        TimeUnit.SECONDS.sleep(SETTLE_SECONDS);
        List<Double> after = Span.cpus((spans + 1) / 2, span);
        return report(before, on, after, said, live);
    }

    private void start() throws Exception {
        System.setProperty("georep.nar.dir", Span.home().resolve("java-shim/nar/target/plugins").toString());
        Path data = Span.home().resolve("build/data/converge-idle");
        for (String n : NAMES) {
            clusters.add(ClusterSpec.named(n).with(c -> {
                c.setBrokerDeleteInactiveTopicsEnabled(false);
                c.setScalableTopicAutoScaleEnabled(true); // as brokers have it: its looks are part of the cost
            }).key("georepAntiEntropySeconds", antiEntropy).apart().start(data.resolve(n)));
        }
        Cluster[] all = clusters.toArray(Cluster[]::new);
        Federation.introduce(all);
        Federation.create(NAMESPACE, all);
        for (Cluster c : clusters) {
            Federation.stop(c, NAMESPACE);
        }
    }

    /** The same on every cluster, and before anything replicates: nobody creates them at somebody else's. */
    private void makeTopics() throws Exception {
        Semaphore room = new Semaphore(AT_ONCE);
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (Cluster c : clusters) {
            PulsarAdmin admin = c.admin();
            for (int i = 0; i < topics; i++) {
                room.acquire();
                all.add(admin.scalableTopics().createScalableTopicAsync("topic://" + NAMESPACE + "/t" + i, 1)
                        .exceptionally(ConvergeIdle::unlessThere).whenComplete((x, e) -> room.release()));
            }
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get();
    }

    /** The client itself asks a second time where the first answer is late. */
    private static Void unlessThere(Throwable e) {
        if (FutureUtil.unwrapCompletionException(e) instanceof ConflictException) {
            return null;
        }
        throw FutureUtil.wrapToCompletionException(e);
    }

    private static long supported(Cluster c) {
        return SourceBroker.of(c.broker).status().all().stream().filter(r -> r.remoteStatus().equals("supported"))
                .count();
    }

    private static ReplicatedScalableTopicService service(Cluster c) {
        return (ReplicatedScalableTopicService) c.broker.getBrokerService().getScalableTopicService();
    }

    /** Switches the key and has every leader look at it. */
    private void converge(boolean on) throws ReflectiveOperationException, InterruptedException, ExecutionException {
        Field key = GeorepConfig.class.getDeclaredField("convergence");
        key.setAccessible(true); // brokers read it when they start; these run on
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (Cluster c : clusters) {
            key.setBoolean(c.plugin().config(), on);
            for (TopicName t : service(c).topics()) {
                all.add(service(c).getOrCreateController(t).thenCompose(x -> ((ReplicatedController) x).reconcile()));
            }
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get();
        for (Cluster c : clusters) {
            int now = service(c).converging().size();
            if (now != (on ? topics : 0)) {
                throw new IllegalStateException(c.name + ": georepConvergence=" + on + ", and " + now + " topics of "
                        + topics + " converge");
            }
        }
    }

    /** Whether each peer of each topic agrees, knows what it is told, and was heard within the last two rounds. */
    private boolean converged(Cluster c) {
        List<TopicConvergence> all = service(c).converging();
        return all.size() == topics && all.stream().allMatch(t -> {
            JsonNode status = t.status();
            int good = 0;
            for (JsonNode p : status == null ? List.<JsonNode>of() : status.path("peers")) {
                if (p.path("support").asText().equals("supported") && p.path("converged").asInt() == 1
                        && p.path("diverged").isEmpty() && p.path("failures").asInt() == 0
                        && p.path("acknowledgedEpoch").asLong() == status.path("epoch").asLong()
                        && p.path("ageMillis").asLong() < 2000L * (antiEntropy + ROUNDING_SECONDS)) {
                    good++;
                }
            }
            return good == PEERS;
        });
    }

    private Said said() {
        Said sum = new Said(0, 0, 0, 0);
        for (Cluster c : clusters) {
            PeerExchange exchange = PeerExchange.of(c.plugin());
            for (JsonNode p : exchange.status().path("peers")) {
                sum = new Said(sum.calls + p.path("calls").asLong(), sum.failures + p.path("failures").asLong(),
                        sum.states + p.path("states").asLong(),
                        sum.bytes + exchange.bytes(p.path("cluster").asText()));
            }
        }
        return sum;
    }

    private boolean report(List<Double> before, List<Double> on, List<Double> after, Said said, boolean live)
            throws IOException {
        List<Double> off = new ArrayList<>(before);
        off.addAll(after);
        double more = Span.median(on) - Span.median(off);
        double percent = more * 100 / span / NAMES.size();
        long inOneRound = (long) topics * PEERS * NAMES.size();
        List<String> faults = new ArrayList<>();
        if (said.failures > 0) {
            faults.add(said.failures + " calls failed");
        }
        if (!live) {
            faults.add("some layouts were not known everywhere at the end");
        }
        if (said.states < inOneRound * (seconds / (antiEntropy + 2 * ROUNDING_SECONDS))) {
            faults.add("layouts were told too seldom");
        }
        if (percent >= TARGET_PERCENT) {
            faults.add("not under " + (int) TARGET_PERCENT + " % of a core");
        }
        if (percent < NOISE_PERCENT) {
            faults.add("other things have cost more than what is measured");
        }
        Span.report("bench-converge-idle", String.format(Locale.ROOT,
                "bench-converge-idle: %d idle replicated topics on each of %d clusters, anti-entropy %d s, %d s: "
                + "%.2f calls/s in all (%.2f from each cluster to each other), %d failed, %.0f topics and %.0f kB per "
                + "call, %.1f rounds%n"
                + "bench-converge-idle: CPU of the process that runs all clusters, median of %d spans of %d s: %.2f s "
                + "with convergence, %.2f s without (%.2f s before, %.2f s after), difference %.2f s = %.2f %% of a "
                + "core per cluster, %.0f us per topic told and answered%n"
                + "bench-converge-idle: %s",
                topics, NAMES.size(), antiEntropy, seconds, said.calls / (double) seconds,
                said.calls / (double) seconds / NAMES.size() / PEERS, said.failures,
                said.states / (double) Math.max(1, said.calls), said.bytes / 1e3 / Math.max(1, said.calls),
                said.states / (double) inOneRound, spans, span, Span.median(on), Span.median(off),
                Span.median(before), Span.median(after), more, percent,
                more * spans * 1e6 / Math.max(1, said.states),
                faults.isEmpty() ? "OK, under " + (int) TARGET_PERCENT + " % of a core" : "FAILED: "
                        + String.join(", ", faults)));
        ObjectNode row = Span.row("e/idle/layouts", "% of a core/cluster").put("peer", TARGET_PERCENT)
                .put("peerName", "limit").put("ratio", TARGET_PERCENT / percent).put("target", 1.0);
        if (!faults.isEmpty()) {
            row.put("note", String.join(", ", faults));
        }
        Span.row("converge-idle", row, percent);
        return faults.isEmpty();
    }
}
